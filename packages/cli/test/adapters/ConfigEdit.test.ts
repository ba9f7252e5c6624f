import { assert, describe, it } from "@effect/vitest"
import { withAdapter } from "../../src/adapters/ConfigEdit.ts"

describe("ConfigEdit", () => {
  const cases: ReadonlyArray<readonly [name: string, text: string, expected: string]> = [
    ["an empty object", "{}\n", '{\n  "adapters": ["x"]\n}\n'],
    [
      "a file without a list",
      '{\n    "profiles": [],\n    "note": "}"\n}\n',
      '{\n    "profiles": [],\n    "note": "}",\n    "adapters": ["x"]\n}\n'
    ],
    ["an empty list", '{ "adapters": [ ] }', '{ "adapters": ["x"] }'],
    ["a list in one line", '{"adapters":["a"],"acp":[]}', '{"adapters":["a", "x"],"acp":[]}'],
    [
      "a list in several lines",
      '{\n  "adapters": [\n    "a",\n    "b"\n  ]\n}',
      '{\n  "adapters": [\n    "a",\n    "b",\n    "x"\n  ]\n}'
    ],
    [
      "the name in other places",
      '{"acp":[{"adapters":["no"]}],"note":"\\"adapters\\": [","adapters":["a]"]}',
      '{"acp":[{"adapters":["no"]}],"note":"\\"adapters\\": [","adapters":["a]", "x"]}'
    ]
  ]
  for (const [name, text, expected] of cases)
    it(`adds an entry to ${name}, and keeps the rest`, () => {
      const edited = withAdapter(text, "x")
      assert.strictEqual(edited, expected)
      const before: { readonly adapters?: ReadonlyArray<string> } = JSON.parse(text)
      assert.deepStrictEqual(JSON.parse(edited), { ...before, adapters: [...(before.adapters ?? []), "x"] })
    })
})
