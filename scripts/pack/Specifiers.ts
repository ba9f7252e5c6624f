/** Addresses of other modules in a module's text, in JavaScript and in declarations. */
import { parseSync, Visitor } from "oxc-parser"

export interface Address {
  readonly start: number
  readonly end: number
  readonly value: string
}

/** Imports, exports from another module, `import()`, `import("…")` types, and `new URL("./…", import.meta.url)`. */
export const addressesIn = (file: string, text: string): ReadonlyArray<Address> => {
  const found: Array<Address> = []
  const note = (
    source: { readonly start: number; readonly end: number; readonly value?: unknown } | null
  ) => {
    if (typeof source?.value === "string")
      found.push({ start: source.start, end: source.end, value: source.value })
  }
  new Visitor({
    ImportDeclaration: ({ source }) => note(source),
    ExportNamedDeclaration: ({ source }) => note(source),
    ExportAllDeclaration: ({ source }) => note(source),
    ImportExpression: ({ source }) => note(source),
    TSImportType: ({ source }) => note(source),
    NewExpression: ({ arguments: [address], callee }) => {
      if (callee.type === "Identifier" && callee.name === "URL" && address !== undefined) note(address)
    }
  }).visit(parseSync(file, text).program)
  return found.toSorted((a, b) => a.start - b.start)
}

/** The text with each address mapped. Lines keep their numbers. */
export const mapAddresses = (file: string, text: string, map: (address: string) => string): string =>
  addressesIn(file, text)
    .toReversed()
    .reduce(
      (mapped, { end, start, value }) =>
        mapped.slice(0, start) + JSON.stringify(map(value)) + mapped.slice(end),
      text
    )
