/** Characters for generated texts. */
import * as fc from "fast-check"

/**
 * Any character but half of a surrogate pair, as the unit of `fc.string`. The library's own unit `binary` is the same, and takes most of a
 * second to prepare.
 */
export const anyCharacter = fc
  .oneof(fc.integer({ min: 0, max: 0xd7ff }), fc.integer({ min: 0xe000, max: 0x10_ffff }))
  .map((code) => String.fromCodePoint(code))
