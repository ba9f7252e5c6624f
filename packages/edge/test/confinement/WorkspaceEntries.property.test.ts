/** Documents with entries of many workspaces: a copy means what a parsed one would, and large ones are read in steps. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import { forWorkspace, STEP_BYTES } from "../../src/confinement/WorkspaceState.ts"

const WORKSPACE = '/home/user/a "b"\\ü'

/** The copy, and the number of steps before it. */
const copied = (text: string, names: ReadonlyArray<string> = ["projects"], workspace = WORKSPACE) => {
  const scan = forWorkspace(Buffer.from(text), names, workspace)
  for (let steps = 0; ; steps++) {
    const step = scan.next()
    if (step.done === true) return { text: step.value.toString("utf8"), steps }
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === "object" && value !== null && !Array.isArray(value)

/** What the copy means. */
const expected = (document: unknown): unknown =>
  isObject(document)
    ? Object.fromEntries(
        Object.entries(document).map(([name, value]) =>
          name === "projects" && isObject(value)
            ? [name, Object.fromEntries(Object.entries(value).filter(([path]) => path === WORKSPACE))]
            : [name, value]
        )
      )
    : document

const names = fc.oneof(
  fc.constantFrom("projects", WORKSPACE, "", "\\", '"', "__proto__ "),
  fc.string({ unit: "grapheme" })
)
const values = fc.jsonValue({ maxDepth: 4 })
const documents = fc.oneof(
  values,
  fc.dictionary(names, values),
  fc.record({ projects: fc.dictionary(names, values), other: values })
)

describe("forWorkspace", () => {
  it("copies what a parsed document would have", () => {
    fc.assert(
      fc.property(documents, fc.constantFrom(undefined, 1, "\t", "\r\n "), (document, space) => {
        const text = JSON.stringify(document, undefined, space)
        assert.deepStrictEqual(JSON.parse(copied(text).text), JSON.parse(JSON.stringify(expected(document))))
      }),
      { numRuns: 2_000 }
    )
  })

  it("ends for documents that are cut or bent, with a copy or a syntax error", () => {
    fc.assert(
      fc.property(
        documents,
        fc.nat(),
        fc.constantFrom('"', "\\", "{", "}", "[", "]", ",", ":", " ", ""),
        (document, at, sign) => {
          const text = JSON.stringify(document)
          const place = at % (text.length + 1)
          for (const bent of [text.slice(0, place), text.slice(0, place) + sign + text.slice(place)])
            try {
              copied(bent)
            } catch (cause) {
              assert.instanceOf(cause, SyntaxError)
            }
        }
      ),
      { numRuns: 2_000 }
    )
  })

  const large: Readonly<Record<string, () => unknown>> = {
    "many workspaces": () => ({
      projects: Object.fromEntries(
        Array.from({ length: 50_000 }, (_, at) => [`/home/user/${at}`, { history: ["x".repeat(200)] }])
      )
    }),
    "one long text": () => ({ projects: { "/other": '"'.repeat(6_000_000) }, theme: "dark" }),
    "deep lists": () => ({
      other: JSON.parse(`${"[".repeat(3_000)}1${"]".repeat(3_000)}`),
      text: "x".repeat(12_000_000)
    }),
    "a long name": () => ({ ["x".repeat(12_000_000)]: 1, projects: {} })
  }

  it.each(Object.entries(large))("reads a document of 12 MB with %s in steps of 32 KiB", (_, make) => {
    const text = JSON.stringify(make())
    const { steps, text: copy } = copied(text)
    // An escaped sign at the end of a step belongs to it.
    assert.isAtLeast(steps, Math.floor(text.length / (STEP_BYTES + 2)) - 1)
    assert.isAtMost(steps, Math.ceil(text.length / STEP_BYTES) + 1)
    assert.isTrue(copy.startsWith("{"))
  })
})
