"""What the notes of the demo corpus are about: theme -> tag -> the words that go with it, most frequent first.

Some words live in several themes on purpose (bass, crane, jaguar, pitch, bow, ...): only their neighbours tell which.
"""

THEMES: dict[str, dict[str, str]] = {
    "cooking": {
        "cooking": "recipe kitchen dinner taste dish pan",
        "baking": "dough flour oven yeast bread crust",
        "soup": "broth simmer ladle onion stock thyme",
        "vegetarian": "lentils tofu beans squash spinach pepper",
        "fish": "bass salmon fillet lemon grill scales",
        "dessert": "sugar chocolate cream vanilla plate mint",
    },
    "music": {
        "music": "song album band listen concert record",
        "guitar": "bass chords strings pick amp fret",
        "piano": "keys sonata pedal scales hammer sheet",
        "violin": "bow strings orchestra concerto pitch solo",
        "recording": "microphone mixer track studio tape mastering",
        "jazz": "saxophone swing trumpet improvise horn club",
    },
    "astronomy": {
        "astronomy": "sky night star observe constellation dark",
        "telescopes": "mirror lens mount eyepiece focus aperture",
        "planets": "mars jupiter saturn mercury ring moon",
        "space": "orbit rocket launch satellite probe crew",
        "galaxies": "nebula cluster dust spiral redshift light",
        "eclipse": "sun shadow corona filter totality glasses",
    },
    "gardening": {
        "gardening": "soil garden plant water spring grow",
        "vegetables": "tomato squash pepper beans harvest seedlings",
        "flowers": "rose tulip bloom bulb petals vase",
        "pruning": "shears branch bow hedge cut wood",
        "compost": "worms leaves mulch bin heap nitrogen",
        "herbs": "mint thyme basil sage pot rosemary",
    },
    "cycling": {
        "cycling": "bike ride road pedal wheel helmet",
        "repair": "chain brake spoke tyre pump wrench",
        "touring": "panniers route map camp border mile",
        "racing": "sprint peloton stage climb finish pace",
        "commuting": "traffic lane office rain lock lights",
        "mountain-biking": "trail suspension rock descent fork mud",
    },
    "finance": {
        "finance": "money bank account interest rate market",
        "investing": "stock bond fund portfolio dividend bull",
        "budget": "spending savings rent bills salary monthly",
        "taxes": "return deduction income filing receipt refund",
        "mortgage": "house loan deposit lender equity fixed",
        "pensions": "retirement contribution employer age annuity scheme",
    },
    "wildlife": {
        "wildlife": "animal habitat forest species wild ranger",
        "birds": "crane wing nest heron swallow feather",
        "cats": "jaguar lion panther stripes prowl cub",
        "insects": "bee beetle wings hive butterfly swarm",
        "ocean": "whale reef seal coral dolphin current",
        "conservation": "endangered reserve poaching census protect corridor",
    },
    "cars": {
        "cars": "engine car drive road garage model",
        "classic-cars": "jaguar beetle chrome restore vintage leather",
        "electric": "battery charge motor range plug current",
        "maintenance": "oil brake filter tyre exhaust wrench",
        "driving": "gear clutch lane steering parking mirror",
        "rally": "stage gravel pace mud driver spring",
    },
    "construction": {
        "construction": "building site concrete plan beam floor",
        "cranes": "crane hook load lift cable operator",
        "carpentry": "wood plane saw joint nail hammer",
        "plumbing": "pipe valve leak tap drain washer",
        "electrics": "wire current fuse socket switch plug",
        "roofing": "tiles slate ladder gutter rafter leak",
    },
    "football": {
        "football": "match team goal pitch season fans",
        "tactics": "press wing formation defence counter midfield",
        "transfers": "fee contract agent loan club window",
        "training": "drill fitness sprint coach session stretch",
        "refereeing": "whistle card foul penalty offside replay",
        "youth": "academy talent junior scout tournament school",
    },
    "programming": {
        "programming": "code software program function developer library",
        "python": "script package notebook import loop module",
        "databases": "table query index record join schema",
        "web": "browser page server link cookie request",
        "testing": "bug assert mock coverage failure replay",
        "git": "branch commit merge fork conflict history",
    },
    "photography": {
        "photography": "photo camera picture image shoot frame",
        "lenses": "lens aperture focus zoom sharp mount",
        "portraits": "face pose model studio smile background",
        "landscape": "mountain sunset valley horizon tripod mist",
        "editing": "colour layers crop contrast filter curves",
        "film": "roll negative darkroom grain develop tape",
    },
}

# words of any note, in every theme and none
COMMON = """
the and with for this from about that some good first today small one new week made little best again help old try
morning still easy better notes question nice simple different really found started learning tips friend people
always three ideas weekend right keep never place without important long problem year useful finally enough
"""
