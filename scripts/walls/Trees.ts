/** Syntax trees of the parser, read without their many types. */
import type { Node } from "oxc-parser"

export type Tree = Readonly<Record<string, unknown>>

export const isTree = (value: unknown): value is Tree =>
  typeof value === "object" && value !== null && "type" in value && typeof value.type === "string"

export const FUNCTIONS: ReadonlySet<string> = new Set<Node["type"]>([
  "ArrowFunctionExpression",
  "FunctionDeclaration",
  "FunctionExpression"
])

/** Trees of the fields of a node, in order. */
export const childrenOf = (node: Tree): ReadonlyArray<Tree> =>
  Object.values(node)
    .flatMap((value) => (Array.isArray(value) ? value : [value]))
    .filter(isTree)
