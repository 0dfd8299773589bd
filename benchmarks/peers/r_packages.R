# Times one task of an R package on a file of cases, and prints the seconds of the fastest of three calls and its answer.
suppressMessages({
  given <- commandArgs(trailingOnly = TRUE)
  cases <- read.csv(given[2])
  work <- switch(given[1],
    pROC = {
      library(pROC)
      function() abs(diff(roc.test(roc(cases$y, cases$p, quiet = TRUE, direction = "<"),
                                   roc(cases$y, cases$q, quiet = TRUE, direction = "<"), method = "delong")$estimate))
    },
    riskRegression = {
      library(riskRegression); library(survival)
      function() Score(list(p = cases$risk), formula = Surv(time, event) ~ 1, data = cases, times = 1,
                       metrics = "brier", summary = NULL, null.model = FALSE, se.fit = FALSE)$Brier$score$Brier[1]
    },
    rms = {
      library(rms)
      function() val.prob(cases$p, cases$y, pl = FALSE)[["Brier"]]
    })
})
invisible(work())
seconds <- sapply(1:3, function(turn) system.time(answer <<- work())[["elapsed"]])
cat(min(seconds), format(answer, digits = 15), as.character(packageVersion(given[1])), "\n")
