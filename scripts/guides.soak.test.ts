/** The longer guides do what they say. */
import { describe, it } from "@effect/vitest"
import { follow, longGuides, play, readme } from "./Guides.ts"

describe("guides", () => {
  it("the README starts services one by one", () => play(readme("One service")))

  for (const guide of longGuides) it(`docs/${guide}.md does what it says`, () => follow(guide))
})
