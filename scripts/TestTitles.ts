/** Titles of the tests and groups of a test file: the texts that `it` and `describe` begin with. */
import { parseSync } from "oxc-parser"
import { childrenOf, isTree, type Tree } from "./walls/Trees.ts"

/** The first name of a chain such as `it.effect.each([…])`. */
const firstName = (node: unknown): string => {
  if (!isTree(node)) return ""
  if (node["type"] === "Identifier") return String(node["name"])
  return firstName(node["object"] ?? node["callee"] ?? node["tag"])
}

const textOf = (node: unknown, source: string): ReadonlyArray<string> => {
  if (!isTree(node)) return []
  if (node["type"] === "Literal" && typeof node["value"] === "string") return [node["value"]]
  return node["type"] === "TemplateLiteral"
    ? [source.slice(Number(node["start"]) + 1, Number(node["end"]) - 1)]
    : []
}

const titlesIn = (node: Tree, source: string): ReadonlyArray<string> => {
  const below = childrenOf(node).flatMap((child) => titlesIn(child, source))
  if (node["type"] !== "CallExpression" || !/^(it|describe)$/.test(firstName(node["callee"]))) return below
  const first = Array.isArray(node["arguments"]) ? node["arguments"][0] : undefined
  return [...textOf(first, source), ...below]
}

/** Templates as they are written: `${name}` stays. */
export const testTitlesOf = (path: string, source: string): ReadonlySet<string> => {
  const { program } = parseSync(path, source)
  return new Set(isTree(program) ? titlesIn(program, source) : [])
}
