HOSTS = ["\x41\u00e9\U0001F600\101\
", """a
"b"""]
ROOT_DIR = ('/a'
"/b")
