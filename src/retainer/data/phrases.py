"""The tables of the generated corpus: what people ask, the names they use, and the names that mean several things.

A template is one line; ``{artist}`` is a slot for an entity, ``{count}`` one for a plain word. A line that ends in "?"
is a question, one in "." cannot be introduced by "could you"; all others are commands and may be joined by "and".

Every slot stands next to a cue that only its type has ("the song", "by", "a table at", "tour"), because the names
themselves do not give the type away.
"""

SHARED_NAMES = """
paris: city contact movie song restaurant
boston: city artist song restaurant playlist
chicago: city artist movie album restaurant
madison: city contact song artist
austin: city contact song restaurant
jordan: contact artist app movie
phoenix: city artist contact movie app
florence: city contact restaurant album
savannah: city contact song restaurant
charlotte: city contact movie song
dakota: contact song restaurant movie
brooklyn: city contact movie playlist
sydney: city contact song
lincoln: city movie contact restaurant
houston: city artist contact
denver: city contact restaurant artist
memphis: city restaurant playlist song
nashville: city album movie playlist
santa fe: city restaurant song album
vienna: city song contact restaurant
berlin: city artist movie album
cairo: city artist restaurant album
havana: city song restaurant movie
lisbon: city app restaurant
kansas: artist song album
america: artist movie song
europe: artist album playlist
asia: artist restaurant contact
alabama: artist song movie
georgia: contact song restaurant
selena: artist movie contact
elvis: artist movie contact playlist
rihanna: artist contact playlist
adele: artist contact
prince: artist movie restaurant contact
queen: artist movie restaurant song
genesis: artist app album movie
journey: artist app album
rocky: movie contact restaurant
annie: movie contact song
matilda: movie contact song artist
carmen: movie contact artist restaurant
casablanca: city movie restaurant song
purple rain: song album movie
thriller: song album movie
shazam: app movie
signal: app movie song
compass: app song restaurant album
echo: app song artist
calm: app album playlist
pulse: app album playlist
mint: app restaurant album
bloom: app album song
canvas: app album restaurant
spark: app song movie
harvest: app album restaurant
kitchen: room restaurant playlist app
garage: room restaurant playlist app
studio: room app restaurant playlist
library: room restaurant app
lounge: room restaurant playlist
terrace: room restaurant
cellar: room restaurant movie
attic: room album movie
office: room app movie
garden: room restaurant album
hallway: room song movie
balcony: room restaurant song
playroom: room playlist app
friday: time movie song playlist
saturday: time song playlist
sunday morning: time song playlist
midnight: time album app movie
noon: time restaurant app
sunrise: time album app
sunset: time playlist restaurant
tomorrow: time song playlist
tonight: time song album
christmas: time playlist album
halloween: time movie playlist
april: time contact album
june: time contact song
august: time contact movie
summer: contact playlist album
road trip: playlist movie album
ginger: contact restaurant song
rosemary: contact restaurant app
olive: contact restaurant app
american pie: dish song movie
banana bread: dish song playlist
hot chicken: dish restaurant song
jambalaya: dish song restaurant album
paella: dish restaurant app
tiramisu: dish album app playlist
ratatouille: dish movie restaurant
gumbo: dish album restaurant
ramen: dish restaurant app
mango lassi: dish song playlist
chili: dish app restaurant playlist
pumpkin soup: dish song album
"""
"""Names that several types share, and the types: the reason why a recogniser has to read the context."""

TYPE_FREQUENCIES = {
    "album": 3,
    "app": 3,
    "artist": 5,
    "city": 5,
    "contact": 5,
    "dish": 3,
    "movie": 5,
    "playlist": 3,
    "restaurant": 5,
    "room": 3,
    "song": 5,
    "time": 4,
}
"""The types and how often they are asked for, relative to each other."""

COMMON_NOUNS = ("dish", "room", "time")
"""Types whose entities are common nouns, which people rarely capitalise."""

# ---------------------------------------------------------------------------------------------------------- requests

ONE_TYPE = """
play some {artist}
play something by {artist}
shuffle the best songs by {artist}
find tickets for the {artist} concert
show me the {artist} tour dates
when does {artist} go on tour ?
how many fans does {artist} have ?
who plays the drums for the band {artist} ?
book a flight to {city}
find a cheap hotel in {city}
show me the map of {city}
book a train from {city} to {city}
what is the weather like in {city} ?
how many people live in {city} ?
how long is the drive from {city} to {city} ?
is it going to rain in {city} ?
call {contact} on the mobile
text {contact} that i am running late
tell {contact} that i said hello
ask {contact} to call me back
send my location to {contact}
read me the last message from {contact}
start a video call with {contact}
did {contact} reply to my email ?
when is the birthday of {contact} ?
find showtimes for {movie}
play the trailer for {movie}
rent the movie {movie}
rate the film {movie} four stars
who directed the movie {movie} ?
who stars in the film {movie} ?
when does {movie} come to theaters ?
i would like to watch {movie} .
book a table at {restaurant}
reserve dinner for {count} people at {restaurant}
show me the menu of {restaurant}
cancel my reservation at {restaurant}
does the restaurant {restaurant} have parking ?
how expensive is lunch at {restaurant} ?
does {restaurant} take reservations ?
play the song {song}
play the track {song} on repeat
read me the lyrics of {song}
teach me the chords of {song}
add the song {song} to my favorites
who wrote the song {song} ?
what are the words to the song {song} ?
how long is the track {song} ?
put on the album {album}
play the record {album} without shuffle
save the album {album} for offline
buy the record {album} on vinyl
how many tracks are on the album {album} ?
what year did the record {album} come out ?
open the {app} app
install the {app} app on my phone
update the app {app} to the latest version
mute all notifications from the {app} app
why does the {app} app keep crashing ?
how much storage does the app {app} need ?
find a recipe for {dish}
show me how to cook {dish}
order a plate of {dish}
add the ingredients for {dish} to my list
how do i cook {dish} ?
how many calories are in a plate of {dish} ?
shuffle my {playlist} playlist
start the playlist {playlist}
make my {playlist} playlist public
delete the playlist {playlist} for good
how long is my {playlist} playlist ?
who follows the playlist {playlist} ?
turn off the lights in the {room}
dim the {room} lights
set the {room} thermostat to {count} degrees
start the vacuum in the {room}
is the {room} lamp still on ?
how warm is it in the {room} ?
set an alarm for {time}
move my meeting to {time}
remind me to water the plants before {time}
snooze all calls until {time}
what is on my calendar for {time} ?
am i busy after {time} ?
"""

TWO_TYPES = """
find tickets for the {artist} concert in {city}
get me {count} tickets to see {artist} live in {city}
when does {artist} go on stage in {city} ?
look for clubs in {city} with shows by {artist}
which arena in {city} has the {artist} tour ?
on the drive to {city} play songs by {artist} .
share the best songs by {artist} with {contact}
get {artist} tickets for me and my friend {contact}
put on some {artist} and then call {contact}
tell {contact} that i got the {artist} tickets
ask {contact} to join me at the {artist} concert
text {contact} the best songs by {artist}
which songs by {artist} are in the movie {movie} ?
does the band {artist} play in the film {movie} ?
shuffle the songs by {artist} from the movie {movie}
after the film {movie} put on some {artist} .
play the soundtrack of {movie} by {artist}
does the movie {movie} have music by {artist} ?
before the {artist} concert i want dinner at {restaurant} .
play some {artist} on the way to lunch at {restaurant}
book a table at {restaurant} before the {artist} concert
is dinner at {restaurant} close to the {artist} show ?
reserve lunch at {restaurant} for the {artist} band
did {artist} ever sing the song {song} on stage ?
find the {artist} cover of the song {song}
play some {artist} but skip the track {song}
play {song} by {artist}
put on {song} by {artist} again
add {song} by {artist} to my queue
was the song {song} written by {artist} ?
share the weather in {city} with {contact}
send the map of {city} to {contact}
book a flight to {city} and tell {contact} about it
tell {contact} that i landed in {city}
ask {contact} for a good hotel in {city}
call {contact} about the trip to {city}
which theaters in {city} show the movie {movie} ?
look for a cinema in {city} that shows the film {movie}
on the flight to {city} i want to watch {movie} .
find showtimes for {movie} in {city}
was the film {movie} shot in {city} ?
get me {count} seats for the movie {movie} in {city}
when i land in {city} book a table at {restaurant} .
before the train to {city} get us lunch at {restaurant} .
book a table at {restaurant} in {city}
reserve dinner for {count} people at {restaurant} in {city}
does the restaurant {restaurant} in {city} have parking ?
on the flight to {city} play the song {song} .
when i land in {city} start the track {song} .
play the song {song} on the way to {city}
is the track {song} on the radio in {city} ?
save the song {song} for the trip to {city}
ask {contact} to watch {movie} with me
tell {contact} that i loved the film {movie}
text {contact} the showtimes for {movie}
send the trailer for {movie} to {contact}
get seats for the movie {movie} and invite {contact}
share my review of the film {movie} with {contact}
text {contact} that dinner is at {restaurant}
ask {contact} to book a table at {restaurant}
tell {contact} to join us for lunch at {restaurant}
book a table at {restaurant} and invite {contact}
send the menu of {restaurant} to {contact}
reserve dinner at {restaurant} and tell {contact} about it
send {contact} the song {song}
ask {contact} to learn the chords of {song}
text {contact} the lyrics of {song}
share the song {song} with {contact}
send the lyrics of {song} to {contact}
play the track {song} when i call {contact}
after the movie {movie} get us a table at {restaurant} .
find showtimes for {movie} close to dinner at {restaurant}
book a table at {restaurant} before the movie {movie}
after dinner at {restaurant} i want to watch {movie} .
who sings in the film {movie} the song {song} ?
after the trailer for {movie} play the song {song} .
play the song {song} from the movie {movie}
is the track {song} in the film {movie} ?
after lunch at {restaurant} play the track {song} .
book a table at {restaurant} and play the song {song}
play the track {song} on the way to dinner at {restaurant}
did they play the song {song} during lunch at {restaurant} ?
play the album {album} by {artist}
how many copies of the record {album} did {artist} sell ?
did {artist} win a prize for the album {album} ?
play the record {album} in the {room}
on the {room} speaker start the album {album} .
play the album {album} from the track {song} on
is the song {song} on the album {album} ?
share the album {album} with {contact}
ask {contact} to bring the record {album}
is the album {album} the soundtrack of {movie} ?
was the record {album} made in {city} ?
open the {app} app and put on the album {album}
is the album {album} on the {app} app ?
add the whole album {album} to my {playlist} playlist
play the record {album} while i cook {dish}
play the album {album} on the way to dinner at {restaurant}
use the record {album} as the alarm for {time}
look for songs by {artist} in the {app} app
open the {app} app and play some {artist}
use the {app} app to get a ride to {city}
does the app {app} have the weather in {city} ?
message {contact} with the {app} app
open the {app} app and call {contact}
order a plate of {dish} with the {app} app
open the {app} app and find a recipe for {dish}
watch {movie} with the {app} app
open the {app} app and rent the movie {movie}
start my {playlist} playlist in the {app} app
use the {app} app to book a table at {restaurant}
open the {app} app on the {room} screen
find the song {song} in the {app} app
block the {app} app until {time}
remind me to update the {app} app before {time}
play some {artist} while i cook {dish}
add more songs by {artist} to my {playlist} playlist
does my {playlist} playlist have music by {artist} ?
play some {artist} in the {room}
on the {room} speaker play something by {artist} .
look for the {artist} concert after {time}
remind me to get {artist} tickets before {time}
who makes the best plate of {dish} in {city} ?
start my {playlist} playlist on the drive to {city}
show the weather in {city} on the {room} screen
book a flight to {city} for {time}
is it going to rain in {city} after {time} ?
ask {contact} to bring a plate of {dish}
send the recipe for {dish} to {contact}
share my {playlist} playlist with {contact}
tell {contact} to wait in the {room}
call {contact} on the {room} speaker
remind me to call {contact} before {time}
tell {contact} that the meeting moved to {time}
find the recipe for {dish} from the film {movie}
shuffle my {playlist} playlist while i cook {dish}
order a plate of {dish} and book a table at {restaurant}
cancel lunch at {restaurant} and find a recipe for {dish}
show the recipe for {dish} on the {room} screen
play the song {song} while i cook {dish}
remind me to cook {dish} before {time}
add the soundtrack of {movie} to my {playlist} playlist
play the trailer for {movie} on the {room} screen
find showtimes for {movie} after {time}
start the playlist {playlist} on the way to lunch at {restaurant}
shuffle my {playlist} playlist in the {room}
add the song {song} to my {playlist} playlist
is the track {song} on my {playlist} playlist ?
keep my {playlist} playlist on until {time}
show the menu of {restaurant} on the {room} screen
book a table at {restaurant} for {time}
move my dinner at {restaurant} to {time}
play the song {song} in the {room}
turn on the {room} lights before {time}
keep the heating on in the {room} until {time}
use the song {song} as the alarm for {time}
"""

THREE_TYPES = """
tell {contact} that the {artist} concert in {city} is sold out
get tickets to see {artist} live in {city} and tell {contact}
which theaters in {city} show the movie {movie} with music by {artist} ?
book a table at {restaurant} in {city} before the {artist} concert
did {artist} sing the song {song} on stage in {city} ?
tell {contact} that the film {movie} has music by {artist}
tell {contact} that dinner at {restaurant} is before the {artist} concert
send {contact} the song {song} by {artist}
share {song} by {artist} with {contact}
after dinner at {restaurant} play the soundtrack of {movie} by {artist} .
play {song} by {artist} from the movie {movie}
play {song} by {artist} on the way to dinner at {restaurant}
tell {contact} that the movie {movie} was shot in {city}
text {contact} the showtimes for {movie} in {city}
text {contact} that i got a table at {restaurant} in {city}
send {contact} the song {song} for the trip to {city}
book a table at {restaurant} in {city} before the movie {movie}
was the song {song} from the film {movie} recorded in {city} ?
play the track {song} on the way to lunch at {restaurant} in {city}
invite {contact} to dinner at {restaurant} and to the movie {movie}
send {contact} the song {song} from the movie {movie}
tell {contact} they played the song {song} during lunch at {restaurant}
after lunch at {restaurant} play the song {song} from the film {movie} .
play {song} by {artist} in the {room}
add {song} by {artist} to my {playlist} playlist
find {song} by {artist} in the {app} app
is the song {song} on the album {album} by {artist} ?
play the album {album} by {artist} in the {room}
share the record {album} by {artist} with {contact}
book a table at {restaurant} in {city} for {time}
tell {contact} that dinner at {restaurant} moved to {time}
find showtimes for {movie} in {city} after {time}
ask {contact} to watch {movie} with me after {time}
use the {app} app to book a flight to {city} for {time}
shuffle my {playlist} playlist in the {room} until {time}
call {contact} on the {room} speaker after {time}
order a plate of {dish} with the {app} app for {time}
tell {contact} that a plate of {dish} is in the {room}
play some {artist} in the {room} while i cook {dish}
"""

# Words that are entities elsewhere stand here as plain words.
WITHOUT_ENTITIES = """
how do you spell the word {word} ?
what does the word {word} mean ?
what rhymes with the word {word} ?
translate the word {word} into {language}
use the word {word} in a short sentence
say the word {word} {count} times
what is the {language} word for {thing} ?
add {thing} and {thing} to the shopping list
take {thing} off the shopping list again
how much do {thing} and {thing} cost ?
do {animal} sleep as long as {animal} do ?
tell me a joke about {animal} and {animal}
why are {animal} afraid of {animal} ?
what is {count} plus {count} times {count} ?
set the volume to {count} and turn up the bass
set a timer with {count} rounds and a loud bell
roll {count} dice and tell me the sum
count backwards from {count} as slowly as you can
how do bees choose a new queen ?
what is the difference between a queen and a king size bed ?
can the queen in chess jump over a knight ?
tell the kids the story of the frog prince
is black friday really worth all the trouble ?
do people wear jeans on casual friday ?
where did i put the sharp kitchen knife ?
add kitchen towels and {thing} to the shopping list
how do i clean a kitchen sink without soap ?
what is plaster of paris made of ?
how big does a boston terrier get ?
why do people talk about the boston tea party ?
do {animal} live in the savannah ?
is the phoenix a real bird or a legend ?
how many states are there in america ?
when does the bank of america open its doors ?
which chapter of the chicago manual covers commas ?
how long is madison avenue from end to end ?
is north dakota colder than south dakota ?
how much is a new pair of air jordan shoes ?
is kansas as flat as they say ?
put up a sign for the garage sale
do i need a library card to borrow {thing} ?
find me a good office chair for a bad back
where can i buy a garden hose and {thing} ?
what does studio lighting for {animal} cost ?
are {animal} awake at the midnight sun ?
who came up with the christmas tree ?
how do i carve a halloween mask for {animal} ?
tell me a fun fact about ginger cats and {animal}
where can i buy olive oil and {thing} ?
how does a compass know where north is ?
turn it up a little and skip the ads
never mind , cancel that and go back
what can you do for me when i am bored ?
stop the music and say something nice
flip a coin and tell me who won
you are the best assistant i ever had .
i am so bored , say something funny .
thank you , that was really helpful .
"""
"""Requests without entities: 'friday', 'kitchen' or 'queen' are plain words in them."""

# -------------------------------------------------------------------------------------------------- around requests

POLITE = ("please", "could you", "can you please", "hey", "hey please", "would you", "ok", "i want you to", "go and")
"""What may stand before a command."""

ADDRESS = ("hey", "ok", "so", "quick question ,", "hi there ,", "one more thing ,")
"""What may stand before anything."""

TAILS = (
    "please",
    "thanks",
    "for me",
    "if you can",
    "right away",
    "when you get a chance",
    "if that is okay",
    "like you did before",
    "while i clean the kitchen sink",
    "like a drama queen",
    "for the black friday crowd",
    "because i forgot",
)
"""What may stand after a command."""

JOINERS = ("and", "and then", "and also", ", then", "and after that")

# ------------------------------------------------------------------------------------------------------------- names

NAME_FORMS = {
    "album": (
        "{adjective} {plural}",
        "{gerund} {plural}",
        "{noun} & {noun}",
        "{noun} of {plural}",
        "{adjective} {noun}",
    ),
    "app": ("{start}{end}", "{start}{end}", "{noun} {tool}", "{mood} {tool}", "{adjective} {noun}"),
    "artist": (
        "{first} {last}",
        "{first} {last}",
        "{adjective} {plural}",
        "{noun} {plural}",
        "{first} & the {plural}",
        "{place} {plural}",
    ),
    "city": ("{stem}{town}", "{stem}{town}", "{compass} {stem}{town}", "{stem} {water}", "san {first}"),
    "contact": ("{first}", "{first} {last}", "{first} {last}", "{kin} {first}", "doctor {last}"),
    "dish": ("{style} {meat} {course}", "{style} {course}", "{meat} {course}", "{meat} and {side}", "{style} {meat}"),
    "movie": (
        "{adjective} {noun}",
        "the {adjective} {noun}",
        "{noun} of the {noun}",
        "return of the {plural}",
        "{gerund} {first}",
        "{first} {last}",
    ),
    "playlist": ("{mood} {activity}", "{mood} {activity}", "{day} {activity}", "{adjective} {noun}", "{adjective} mix"),
    "restaurant": (
        "{place} {eatery}",
        "{last} {eatery}",
        "the {adjective} {noun}",
        "{noun} & {noun}",
        "{adjective} {eatery}",
        "{first} {last}",
    ),
    "room": ("{where} {space}", "{where} {space}", "{where} {space}", "{first} {space}", "{adjective} {space}"),
    "song": (
        "{adjective} {noun}",
        "{gerund} {plural}",
        "{gerund} {first}",
        "my {adjective} {noun}",
        "{noun} of the {noun}",
        "{place} {noun}",
    ),
    "time": (
        "{hour} {half}",
        "{minute} past {clock}",
        "half past {clock}",
        "{minute} to {clock} {half}",
        "{when} {day}",
        "{when} {day} {part}",
        "{day} {part}",
        "{day} {month} {date}",
        "{month} {date}",
    ),
}
"""How the names of a type are built when they are not shared: 'paris grill', 'golden foxes', 'ten past six'."""

_WORD_TABLE = """
first: adam alice amber andre anita austin avery bella bianca boris brooklyn camila carmen cecil charlotte chloe clara
  cole dakota dalia daniel darius diego dora edgar elena elias emil emma erin esther ethan fatima felix fiona florence
  freya gavin georgia gloria grace hana harper hassan hazel hugo imani ines iris isaac ivy jade jamal jasper joel
  jordan judith julian kai karim keira kenji lara laura leo liam lincoln lola lucia madison maya milo mina nadia naomi
  nico nina noah nora olga omar oscar paris paula pedro phoenix priya quinn rachel rafael ravi rosa ruby samir
  savannah selma simon sofia stella sydney tara theo tomas uma vera victor vivian wanda xavier yara zoe
last: abbott acosta adler alvarez bailey barton becker bennett blake boone bowen brandt brooks burke calder carver
  chan chavez chen clarke cooper cortez cruz dalton davis delgado diaz doyle drake duran ellis espinoza evans farrow
  fisher flores foster fuller garza gibson gomez grant griffin gupta hale hansen hart hayes holt howell hughes ibarra
  iyer jansen jenkins jordan kaplan keller khan kim kovacs kumar lambert larsen lee leon lincoln lopez lowe madison
  malik marsh mercer meyer moreno morgan nair nakamura nguyen novak ortega osman parker patel pierce porter prince
  quintero ramos reed reyes rivera rossi russo santos sato sharma silva singh sloan sutton tanaka torres vega wu young
adjective: amber ancient blue bright broken burning crazy crimson crooked crystal dark distant electric empty endless
  faded fallen fearless final foolish forgotten fragile frozen gentle golden hidden hollow holy honest hungry
  invisible iron jolly lazy little lonely lost loud lucky magic mighty modern noisy old orange pale perfect quiet
  rapid rusty sacred secret shiny silent silver sleepy smooth stolen strange sweet tender tiny velvet violet wandering
  warm wicked wild wooden young
noun: angel anchor arrow autumn balloon bridge candle castle circle cloud comet crown dancer desert diamond dragon
  dream engine falcon feather fire forest fountain fox ghost giant guitar hammer heart honey hunter island jewel
  kingdom ladder lantern letter lion machine maple mirror monkey moon mountain ocean orchid owl palace panther pearl
  phoenix pirate planet prince queen rabbit raven ribbon river robot rose sailor shadow shore silence sky soldier
  spider star stone storm stranger summer thief thunder tiger tower tree valley violin voyage whisper window winter
  wolf
plural: angels arrows bandits bears bells birds boys brothers cowboys crows daughters diamonds dolphins doors dreams
  drivers eagles echoes embers flames flowers foxes friends ghosts giants girls hearts heroes horses hours islands
  kings ladies lanterns letters lights lovers machines mirrors monkeys nights oceans orphans pilots pirates poets
  queens rebels riders rivers roads roses sailors saints secrets shadows sisters spiders stars stones storms strangers
  streets tears thieves tigers towers trains travelers twins voices walls waves whispers widows wolves
gerund: breaking burning calling chasing counting crossing dreaming falling feeding fighting finding following
  forgetting hiding holding hunting kissing leaving losing loving meeting missing painting racing reading riding
  running saving seeing selling shaking singing stealing teaching touching trusting waking walking watching writing
place: austin berlin boston brooklyn cairo chicago dakota denver havana houston kansas lisbon memphis nashville paris
  phoenix savannah sydney vienna
eatery: bakery bar bistro brasserie cafe cantina corner deli diner grill house inn kitchen oven pizzeria room
  steakhouse table tavern terrace
stem: ald amber ash bal barn bel black bram brook carl cedar chester clay clear cold cran dan dar dun eagle east elm
  fair fal glen gran green hart haven hazel hill holl kel kings lan lex lin long mal maple mar mid mill nor oak old
  pem pine queens raven red rich river rock rose ross sand shel silver spring stan stone thorn tun wal wash wat wel
  wen west wil win wolf wood
town: borough bridge burg bury dale field ford ham land ley mont mouth port side stead ton view ville wick worth
compass: east fort grand lake mount new north old port saint south upper west
water: bay beach bluff creek falls harbor heights hills lake point rapids springs
kin: aunt uncle cousin grandma grandpa coach
style: baked braised cajun classic creamy crispy greek grilled homemade indian korean mexican moroccan pickled roasted
  smoky spicy steamed stuffed sweet tangy thai vegan
meat: bean beef cauliflower cheese chicken chickpea corn crab duck eggplant fish lamb lentil mushroom onion pork
  potato prawn pumpkin salmon shrimp spinach tofu tomato tuna turkey zucchini
course: burger burrito casserole chowder curry dumplings gratin kebab lasagna noodles omelette pasta pie pilaf pizza
  quiche risotto salad sandwich skewers soup stew tacos tart wrap
side: beans biscuits chips greens gravy grits mash noodles rice waffles
start: book buzz chat cloud code doc fit flex flow fresh geo go home insta jam key link map meet my net note pay photo
  pin play quick ride scan shop snap sound sync task travel vid vox wave zen zip
end: base bee box buddy bird cast deck dash drive drop fy hub it jet kit lab ly mate nest now pad pal pilot pod scout
  ster spot stack stream time tune verse wise zone
tool: alarm calendar camera coach counter diary finder planner radar scanner timer tracker translator tutor wallet
where: back cozy downstairs east family front grandma guest inner kids lower main middle music new north old outdoor
  second shared small south spare staff sunny tiny top twin upper upstairs west winter yoga
space: apartment basement bathroom bedroom cabin chamber closet conservatory corridor gym lab laundry loft nook
  nursery pantry parlor patio porch room salon shed suite sunroom wing workshop
mood: angry calm chill cozy deep dreamy easy epic fresh funky happy heavy hot indie jazzy lazy mellow morning old
  peaceful rainy romantic sad sleepy slow soft sunny vintage
activity: anthems beats brunch campfire cardio classics coding commute cooking covers dinner drive focus gaming
  grooves hits jams lullabies meditation memories mix party picnic rave reading road running shower study vibes
  workout yoga
hour: 1 2 3 4 5 6 7 8 9 10 11 12
half: am pm
minute: five ten quarter twenty
clock: one two three four five six seven eight nine ten eleven twelve
when: early late next this
day: monday tuesday wednesday thursday friday saturday sunday
part: afternoon evening morning night
month: january february march april may june july august september october november december
date: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28
count: two three four five six seven eight nine ten twelve fifteen twenty
language: arabic dutch finnish french german greek hindi italian korean polish russian spanish swedish turkish
thing: batteries blankets boots bulbs candles envelopes gloves guitars hammers lamps magazines matches mirrors napkins
  nails paint pencils pillows pliers ribbons ropes scissors shampoo shoes soap socks sponges stamps tape tissues
  towels
animal: ants bats bears bees cats cows crows dogs dolphins ducks eagles foxes frogs goats hamsters horses lions mice
  monkeys owls parrots pigs rabbits seals sharks sheep snakes spiders swans tigers turtles whales wolves zebras
"""


def _lists(table: str) -> dict[str, tuple[str, ...]]:
    """Read ``key: word word word`` over any number of lines."""
    found: dict[str, list[str]] = {}
    for token in table.split():
        if token.endswith(":"):
            words = found.setdefault(token[:-1], [])
        else:
            words.append(token)
    return {key: tuple(words) for key, words in found.items()}


NAME_WORDS = _lists(_WORD_TABLE)
"""The words that names are built from."""
