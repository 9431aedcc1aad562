def install(ns):
    pass
