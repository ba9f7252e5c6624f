/**
 * Functions with too many lines: more than 80, or 150 in one that builds a layer or a service, whose lines are mostly the functions that it builds.
 *
 * Does not: allow more for those inner functions. The 80 lines hold for each.
 */
import { type Tree, FUNCTIONS, childrenOf, isTree, parse } from "./Trees.ts"

const MOST = 80
const MOST_OF_CONSTRUCTION = 150

/** Names of what builds a layer or a service. */
const CONSTRUCTION = /^(?:layer|make)(?:[A-Z]\w*)?$/
/** Tests and what they share, and what is generated. */
const EXEMPT = /^packages\/testing\/|\/test\/|\.test\.ts$|gitleaksRules\.ts$/

export interface LongFunction {
  readonly line: number
  readonly lines: number
  readonly most: number
}

const nameOf = (node: Tree): string => {
  const name =
    node["type"] === "VariableDeclarator" || FUNCTIONS.has(String(node["type"])) ? node["id"] : node["key"]
  return isTree(name) ? String(name["name"]) : ""
}

const isConstructor = (node: Tree): boolean =>
  node["type"] === "MethodDefinition" && node["kind"] === "constructor"

/** A function whose body is only an expression, such as `(options) => Layer.effect(…)`. */
const isThunk = (node: Tree): boolean => isTree(node["body"]) && node["body"]["type"] !== "BlockStatement"

/** Functions of a text that are too long. */
export const longFunctionsIn = (path: string, text: string): ReadonlyArray<LongFunction> => {
  if (EXEMPT.test(path)) return []
  const found: Array<LongFunction> = []
  const linesOf = (start: unknown, end: unknown): number =>
    text.slice(Number(start), Number(end)).split("\n").length
  /** `builds`: whether the node is within a construction, and outside of the functions that it builds. */
  const visit = (node: Tree, builds: boolean): void => {
    const isConstruction = builds || isConstructor(node) || CONSTRUCTION.test(nameOf(node))
    const isFunction = FUNCTIONS.has(String(node["type"]))
    if (isFunction) {
      const lines = linesOf(node["start"], node["end"])
      const most = isConstruction ? MOST_OF_CONSTRUCTION : MOST
      if (lines > most) found.push({ line: linesOf(0, node["start"]), lines, most })
    }
    for (const child of childrenOf(node)) visit(child, isConstruction && (!isFunction || isThunk(node)))
  }
  const { program } = parse(path, text)
  if (isTree(program)) visit(program, false)
  return found
}
