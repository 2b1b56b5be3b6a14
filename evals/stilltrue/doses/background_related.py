"""How many related live facts compete for the result?"""

from stilltrue.doses import Dose, Material, background_levels


def make(material: Material) -> Dose:
    """None, the fifty hand-written ones, and 500 and 5,000 generated ones."""
    return Dose(
        name="background_related",
        axis="related live facts in the store",
        levels=background_levels(material, "background_related", material.world.related, "related"),
    )
