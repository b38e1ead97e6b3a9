"""The policies that are compared: a line for the daemon and the simulator, settings, and the code points of their
classes. Eight classes without a floor are the study's of docs/studies/jpas.md; four with one are the product's own."""

EIGHT, FOUR = (43, 41, 35, 33, 19, 17, 11, 0), (43, 35, 19, 0)
PERIOD, MARGIN = "flow.period=1s", "flow.margin=0.1"  # iterations of 0.2 s; the margin is the daemon's default
BARE = (PERIOD, MARGIN, "flow.classes=8", "flow.floor=0")

POLICIES = {"fair": ("flow=fair", ()),
            "jpas": ("flow=progress", BARE),
            "milestones": ("flow=milestones", BARE),
            "jpas with a floor": ("flow=progress", (PERIOD, MARGIN, "flow.classes=4", "flow.floor=0.2"))}
# The simulator follows curves only where a policy asks for them; with one class this is fair sharing.
SIMULATED = {**POLICIES, "fair": ("flow=progress", ("flow.classes=1",))}
CODE_POINTS = {name: FOUR if "flow.classes=4" in settings else EIGHT for name, (_, settings) in POLICIES.items()}
