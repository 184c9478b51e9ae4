"""A page, a picture and words, as replies in these tests offer them."""

TAGS = "[VERDICT:CHAT:WARM] [TASK:NONE] [STAGE:OFFER]"
PAGE = "https://shop.example/p/101"
PHOTO = "https://shop.example/p/101.jpg"
WORDS = "Кружка стоит 1900 ₽."
