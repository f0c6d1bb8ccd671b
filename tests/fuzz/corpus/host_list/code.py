import os
HOSTS = os.listdir()
