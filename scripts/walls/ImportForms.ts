/** How modules name each other: a module of a package by its path, relative ones with their extension, and none through a module that only exports others. */
import { parseSync } from "oxc-parser"

const EXTENSION = /\.(?:tsx?|[cm]?js|json|css|svg)(?:\?.*)?$/

/** `what it is: specifier` */
export const refusedImportsIn = (path: string, text: string): ReadonlyArray<string> => {
  const { module, program } = parseSync(path, text)
  const specifiers = [
    ...module.staticImports.map(({ moduleRequest }) => moduleRequest.value),
    ...module.staticExports.flatMap(({ entries }) =>
      entries.flatMap(({ moduleRequest }) => (moduleRequest === null ? [] : [moduleRequest.value]))
    )
  ]
  const exported = program.body.filter(({ type }) => type !== "ImportDeclaration")
  const isBarrel =
    exported.length > 0 &&
    exported.every(
      (node) =>
        node.type === "ExportAllDeclaration" ||
        (node.type === "ExportNamedDeclaration" && node.source !== null)
    )
  return [
    ...specifiers
      .filter((each) => /^@corral\/[a-z-]+$/.test(each))
      .map((each) => `import a module of the package, by its path: ${each}`),
    ...specifiers
      .filter((each) => each.startsWith(".") && !EXTENSION.test(each))
      .map((each) => `a relative import has its extension: ${each}`),
    ...(isBarrel ? ["a module that only exports others: import them where they are"] : [])
  ]
}
