/** The longer guides do what they say. */
import { describe, it } from "@effect/vitest"
import { follow, longGuides } from "./Guides.ts"

describe("guides", () => {
  for (const guide of longGuides) it(`docs/${guide}.md does what it says`, () => follow(guide))
})
