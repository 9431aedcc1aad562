def install(ns): pass
