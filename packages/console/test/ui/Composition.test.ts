import { assert, describe, it } from "@effect/vitest"
import { Composition } from "../../src/ui/Composition.ts"

/** Enter at a time, as a browser reports it. */
const enter = (timeStamp: number, { isComposing = false, keyCode = 13 } = {}) => ({
  isComposing,
  keyCode,
  timeStamp
})

describe("Composition", () => {
  it("owns no key without an input method", () => {
    const composition = new Composition()
    assert.isFalse(composition.owns(enter(0)))
    assert.isFalse(composition.owns(enter(5_000)))
  })

  it("owns the key that accepts a candidate, which Chromium and Firefox send within the composition", () => {
    const composition = new Composition()
    composition.start()
    assert.isTrue(composition.owns(enter(10, { isComposing: true, keyCode: 229 })))
    assert.isTrue(composition.owns(enter(10)))
    composition.end(10)
    assert.isFalse(composition.owns(enter(400)))
  })

  it("owns the key that Safari sends after the end of the composition, with its key code or without", () => {
    const composition = new Composition()
    composition.start()
    composition.end(1_000)
    assert.isTrue(composition.owns(enter(1_001, { keyCode: 229 })))
    assert.isTrue(composition.owns(enter(1_001)))
    assert.isTrue(composition.owns(enter(1_099)))
    assert.isFalse(composition.owns(enter(1_100)))
  })

  it("owns a key that says so itself, although no event announced a composition", () => {
    const composition = new Composition()
    assert.isTrue(composition.owns(enter(0, { isComposing: true })))
    assert.isTrue(composition.owns(enter(0, { keyCode: 229 })))
  })
})
