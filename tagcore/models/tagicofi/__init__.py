"""TagiCoFi: collaborative filtering in which users who tag alike have alike tastes (RecSys 2009)."""
