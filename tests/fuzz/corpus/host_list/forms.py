HOSTS = ("n1", r"ann@n2:2222", u'[::1]:22', "a" "b",
  # c
)
PADDLE_USE_GPU = "False"; PADDLE_PORT = 0x1bfc
