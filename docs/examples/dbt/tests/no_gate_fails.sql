select gate, reason from {{ ref("gates") }} where failed
