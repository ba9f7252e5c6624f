import { assert, describe, it } from "@effect/vitest"
import { Arbitrary, Schema } from "effect"
import { matchesPath } from "../../src/approval/GrantRules.ts"
import { tries } from "@corral/testing/time/Effort"

const Names = Arbitrary.array(Arbitrary.schema(Schema.Literals(["a", "b", ".a", "ab", ".", "ba"])), {
  minLength: 1,
  maxLength: 6
})
const Parts = Arbitrary.array(
  Arbitrary.schema(Schema.Literals(["**", "**", "*", "a", "a*", "*b", "?", ".a", ".*", "?*", "a?*"])),
  { minLength: 1, maxLength: 6 }
)

/** What a pattern says, tried in every way. */
const fitsName = (pattern: string, name: string): boolean => {
  const [first, ...rest] = pattern
  if (first === undefined) return name === ""
  if (first === "*") return fitsName(rest.join(""), name) || (name !== "" && fitsName(pattern, name.slice(1)))
  return name !== "" && (first === "?" || first === name[0]) && fitsName(rest.join(""), name.slice(1))
}
const fits = ([part, ...parts]: ReadonlyArray<string>, [name, ...names]: ReadonlyArray<string>): boolean => {
  if (part === undefined) return name === undefined
  const isHidden = name?.startsWith(".") === true
  if (part === "**") {
    const takesOne = name !== undefined && !isHidden
    return (
      (takesOne && fits([part, ...parts], names)) ||
      (takesOne && fits(parts, names)) ||
      (parts.length > 0 && fits(parts, name === undefined ? [] : [name, ...names]))
    )
  }
  if (name === undefined || (isHidden && /^[*?]/.test(part))) return false
  return fitsName(part, name) && fits(parts, names)
}

describe("matchesPath", () => {
  it.prop(
    "says what trying every way says",
    [Parts, Names],
    ([parts, names]) => {
      // At its end `**` is at least one name.
      const whole = parts.at(-1) === "**" ? [...parts, "*"] : parts
      assert.strictEqual(
        matchesPath(parts.join("/"), names.join("/")),
        fits(whole, names),
        `${parts.join("/")} ${names.join("/")}`
      )
    },
    tries(2_000)
  )

  it("ends for many wildcards and long paths", () => {
    assert.isFalse(matchesPath(`${"**/".repeat(50)}z`, "a/".repeat(2_000) + "b"))
    assert.isFalse(matchesPath(`${"*a".repeat(50)}z`, "a".repeat(4_000)))
  })
})
