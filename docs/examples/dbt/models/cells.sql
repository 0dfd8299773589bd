-- Counts of cases by forecast, outcome, day and segment. A run adds the days that are new; a day from `since` on is
-- counted again and replaced.
{{ config(materialized="incremental", incremental_strategy="delete+insert", unique_key="day") }}

select day, country, device, round(p, 4) as p, y, count(*) as cases
from read_parquet('{{ var("cases") }}')
{% if is_incremental() %}
where day > (select coalesce(max(day), date '0001-01-01') from {{ this }}) or day >= date '{{ var("since", "9999-12-31") }}'
{% endif %}
group by all
