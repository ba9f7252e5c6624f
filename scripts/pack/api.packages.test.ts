/** Reports of the public interfaces: they are those of the packages, and show what changes. Packing has written the declarations. */
import { assert, describe, it } from "@effect/vitest"
import { existsSync, readdirSync, readFileSync } from "node:fs"
import { join } from "node:path"
import { apiCommand, apiReports, declarationsIn } from "./ApiReport.ts"
import { hiddenServices, servicesIn } from "./LayerServices.ts"
import { root } from "./Modules.ts"

describe("api", () => {
  it.each([...apiReports()])("%s is up to date", (path, text) => {
    const file = join(root, path)
    const written = existsSync(file) ? readFileSync(file, "utf8") : ""
    assert.isTrue(written === text, `${path} is stale. Read the change, then run: ${apiCommand}`)
  })

  it("contains no report of a package that is not packed", () => {
    const expected = [...apiReports().keys()].map((path) => path.slice("api/".length))
    assert.deepStrictEqual(readdirSync(join(root, "api")).toSorted(), expected.toSorted())
  })
})

describe("public layers", () => {
  it("name only services that programs can import", () => assert.deepStrictEqual(hiddenServices(), []))

  it("are found in each form that the compiler writes", () => {
    const text = `import { Layer } from "effect";
import { A } from "./a.ts";
import type { B } from "@corral/service/B";
export declare class Own extends Base { static readonly layer: Layer.Layer<Own, never, A | import("./c.ts").C>; }
export declare const part: (path: string) => Context.Reference<Layer.Layer<(A | B), never, HttpRouter.HttpRouter>>;
`
    assert.deepStrictEqual(
      servicesIn(text).map(({ address, name }) => [name, address]),
      [
        ["Own", undefined],
        ["A", "./a.ts"],
        ['import("./c.ts").C', "./c.ts"],
        ["A", "./a.ts"],
        ["B", "@corral/service/B"],
        ["HttpRouter.HttpRouter", undefined]
      ]
    )
  })
})

describe("declarationsIn", () => {
  it("gives each statement on one line, without comments and imports", () => {
    const text = `import { A } from "./a.ts"
/** A value. */
export declare const value: {
    /** Why. */
    readonly a: A;
};
export {};
`
    assert.deepStrictEqual(declarationsIn(text), ["export declare const value: { readonly a: A; };"])
  })

  it("sorts the members of unions, also of nested ones", () => {
    const of = (union: string) => declarationsIn(`export type A = Record<${union}, (0 | 1)[]> | undefined`)
    assert.deepStrictEqual(of('"b" | ("d" | "c") | "a"'), [
      'export type A = Record<"a" | "b" | ("c" | "d"), (0 | 1)[]> | undefined'
    ])
    assert.deepStrictEqual(of('("c" | "d") | "a" | "b"'), of('"b" | ("d" | "c") | "a"'))
  })

  it("shows a change behind the end of a cut declaration", () => {
    const of = (last: string) =>
      declarationsIn(`export type Names = ${'"name" | '.repeat(100)}"${last}"`).join()
    assert.isBelow(of("a").length, 500)
    assert.notStrictEqual(of("a"), of("b"))
  })
})
