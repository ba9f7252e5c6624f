/** Contrast of the design tokens by WCAG 2.2: text at least 4.5, controls at least 3, in both themes. */
import { assert, describe, it } from "@effect/vitest"
import { readFileSync } from "node:fs"
import { fileURLToPath } from "node:url"

const sheet = readFileSync(fileURLToPath(new URL("../../src/ui/tokens.css", import.meta.url)), "utf8")

type Pair = readonly [light: string, dark: string]
const tokens = new Map<string, Pair>(
  [...sheet.matchAll(/--([a-z-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)/g)].map(
    ([, name = "", light = "", dark = ""]) => [name, [light, dark]]
  )
)

const luminance = (colour: string): number => {
  const [red = 0, green = 0, blue = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255
    return part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

const contrast = (a: string, b: string): number => {
  const [dark = 0, light = 0] = [luminance(a), luminance(b)].toSorted((x, y) => x - y)
  return (light + 0.05) / (dark + 0.05)
}

const colourOf = (name: string, theme: 0 | 1): string => {
  const pair = tokens.get(name)
  assert.isDefined(pair, name)
  return pair[theme]
}

const surfaces = ["canvas", "side", "raised", "sunken", "hover"]
const meanings = ["good", "bad", "busy", "wait", "accent"]
const code = ["code-keyword", "code-string", "code-comment", "code-number", "code-name", "ink"]

/** Text, what it is on, and the least contrast. */
const pairs: ReadonlyArray<readonly [text: string, surface: string, least: number]> = [
  ...["ink", "body", "quiet"].flatMap((text) => surfaces.map((surface) => [text, surface, 4.5] as const)),
  ...meanings.flatMap((meaning) => [
    [meaning, `${meaning}-soft`, 4.5] as const,
    ...surfaces.map((surface) => [meaning, surface, 4.5] as const)
  ]),
  ["ink", "accent-soft", 4.5],
  ["on-accent", "accent", 4.5],
  ["on-bad", "bad", 4.5],
  ...["added", "added-word", "removed", "removed-word"].flatMap((surface) =>
    code.map((text) => [text, surface, 4.5] as const)
  ),
  ...["canvas", "raised", "side"].map((surface) => ["edge", surface, 3] as const)
]

describe("design tokens", () => {
  it.each(pairs)("%s is legible on %s", (text, surface, least) => {
    for (const theme of [0, 1] as const) {
      const found = contrast(colourOf(text, theme), colourOf(surface, theme))
      assert.isAtLeast(found, least, theme === 0 ? "light" : "dark")
    }
  })
})
