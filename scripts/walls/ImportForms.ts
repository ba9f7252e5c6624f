/**
 * How modules name each other: a module of another package by its path, relative ones in the same package and with their extension, and none through a
 * module that only exports others.
 */
import { posix } from "node:path"
import { parse } from "./Trees.ts"

const EXTENSION = /\.(?:tsx?|[cm]?js|json|css|svg)(?:\?.*)?$/

const packageFolder = /^packages\/[^/]+\//

/** Whether a relative import leads out of the package. Packed packages cannot follow it. */
const leavesPackage = (path: string, specifier: string): boolean => {
  const [folder] = packageFolder.exec(path) ?? []
  return folder !== undefined && !posix.join(posix.dirname(path), specifier).startsWith(folder)
}

/** `what it is: specifier` */
export const refusedImportsIn = (path: string, text: string): ReadonlyArray<string> => {
  const { module, program } = parse(path, text)
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
    ...specifiers
      .filter((each) => each.startsWith(".") && leavesPackage(path, each))
      .map((each) => `a relative import stays in its package: ${each}`),
    ...(isBarrel ? ["a module that only exports others: import them where they are"] : [])
  ]
}
