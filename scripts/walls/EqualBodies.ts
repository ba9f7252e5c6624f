/**
 * Functions whose bodies are equal by their syntax trees: one decision with two homes. Names of parameters and of variables of the function do not
 * count, and neither do comments, white space and the types of parameters.
 *
 * Does not: compare bodies of fewer than `SMALLEST` nodes, which say too little to be a decision, or functions within equal ones.
 */
import { type Tree, FUNCTIONS, childrenOf, isTree, parse } from "./Trees.ts"

/** Nodes of the smallest body that is compared: about two lines. */
export const SMALLEST = 15
/** The same of a body that uses `this`: a method that passes on what its object has cannot move to another module. */
export const SMALLEST_METHOD = 60

export interface FunctionPlace {
  readonly path: string
  readonly line: number
  readonly size: number
}

export interface SourceText {
  readonly path: string
  readonly text: string
}

/** Fields that hold no syntax. */
const POSITIONS = new Set(["start", "end", "range", "loc", "parent"])

/** Names that patterns below the node bind: of parameters, and of variables and functions of the body. */
const addBound = (node: Tree, names: Set<string>): void => {
  if (node["type"] === "Identifier" && typeof node["name"] === "string") names.add(node["name"])
  else if (node["type"] === "Property") addBoundIn(node["value"], names)
  else if (node["type"] === "AssignmentPattern") addBoundIn(node["left"], names)
  else if (/Pattern$|^RestElement$/.test(String(node["type"])))
    for (const child of childrenOf(node)) addBound(child, names)
}
const addBoundIn = (value: unknown, names: Set<string>): void => {
  if (isTree(value)) addBound(value, names)
}

const addDeclared = (node: Tree, names: Set<string>): void => {
  if (node["type"] === "VariableDeclarator") addBoundIn(node["id"], names)
  if (FUNCTIONS.has(String(node["type"]))) {
    addBoundIn(node["id"], names)
    if (Array.isArray(node["params"])) for (const each of node["params"]) addBoundIn(each, names)
  }
  if (node["type"] === "CatchClause") addBoundIn(node["param"], names)
  for (const child of childrenOf(node)) addDeclared(child, names)
}

/** A function's body as text, with its own names numbered by their first use. */
const bodyOf = (fn: Tree): string => {
  const bound = new Set<string>()
  addDeclared({ ...fn, id: null }, bound)
  const numbers = new Map<string, number>()
  const numberOf = (name: string): number => {
    const number = numbers.get(name) ?? numbers.size
    numbers.set(name, number)
    return number
  }
  const write = (value: unknown): string => {
    if (Array.isArray(value)) return `[${value.map(write).join(",")}]`
    if (typeof value === "bigint") return `${value}n`
    if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "-"
    if (!isTree(value)) return `{${Object.values(value).map(write).join(",")}}`
    const { name, type } = value
    if (type === "Identifier" && typeof name === "string" && bound.has(name)) return `#${numberOf(name)}`
    const fields = Object.entries(value).filter(([field]) => field !== "type" && !POSITIONS.has(field))
    return `${String(type)}(${fields.map(([field, each]) => `${field}:${write(each)}`).join(",")})`
  }
  // The parameters number their names first, so that their order counts.
  write(fn["params"])
  return write(fn["body"])
}

/** Arrow functions that are written where they are passed on: without a name, no one can call them again. */
const callbacksOf = (node: Tree): ReadonlyArray<Tree> => {
  const passed = node["type"] === "JSXExpressionContainer" ? [node["expression"]] : node["arguments"]
  return Array.isArray(passed)
    ? passed.filter(isTree).filter(({ type }) => type === "ArrowFunctionExpression")
    : []
}

interface Shape {
  readonly hash: number
  readonly usesThis: boolean
  readonly size: number
}

interface Candidate extends FunctionPlace {
  readonly fn: Tree
  readonly shape: string
  readonly start: number
  readonly end: number
}

const mixed = (hash: number, value: number): number => Math.imul(hash ^ value, 16_777_619) >>> 0
const hashOf = (text: string): number => {
  let hash = 2_166_136_261
  for (let at = 0; at < text.length; at++) hash = mixed(hash, text.charCodeAt(at))
  return hash
}

/** Functions of a text with the shape of their bodies, without names: one pass, because few bodies have equal shapes. */
const candidatesOf = ({ path, text }: SourceText): ReadonlyArray<Candidate> => {
  const found: Array<Candidate> = []
  const callbacks = new Set<Tree>()
  const shapeOf = (node: Tree): Shape => {
    let hash = hashOf(String(node["type"]))
    for (const each of callbacksOf(node)) callbacks.add(each)
    let size = 1
    let usesThis = node["type"] === "ThisExpression"
    let body: Shape | undefined
    for (const child of childrenOf(node)) {
      const shape = shapeOf(child)
      if (child === node["body"]) body = shape
      hash = mixed(hash, shape.hash)
      size += shape.size
      usesThis ||= shape.usesThis
    }
    const { end, start, type } = node
    const isCompared = FUNCTIONS.has(String(type)) && !callbacks.has(node)
    if (isCompared && body !== undefined && typeof start === "number" && typeof end === "number") {
      const line = text.slice(0, start).split("\n").length
      if (body.size >= (body.usesThis ? SMALLEST_METHOD : SMALLEST))
        found.push({ fn: node, shape: `${body.size} ${body.hash}`, size: body.size, path, start, end, line })
    }
    return { hash, size, usesThis }
  }
  const { program } = parse(path, text)
  if (isTree(program)) shapeOf(program)
  return found
}

const groupsOf = <A>(items: ReadonlyArray<A>, keyOf: (item: A) => string): ReadonlyArray<ReadonlyArray<A>> =>
  [...Map.groupBy(items, keyOf).values()].filter((group) => group.length > 1)

/** Groups of places with one body, the largest bodies first. */
export const equalBodies = (
  sources: ReadonlyArray<SourceText>
): ReadonlyArray<ReadonlyArray<FunctionPlace>> => {
  const groups = groupsOf(sources.flatMap(candidatesOf), ({ shape }) => shape).flatMap((alike) =>
    groupsOf(alike, ({ fn }) => bodyOf(fn))
  )
  const all = groups.flat()
  const isWithin = (one: Candidate): boolean =>
    all.some(
      (each) => each.path === one.path && each.start <= one.start && one.end <= each.end && each !== one
    )
  return groups
    .filter((places) => !places.every(isWithin))
    .toSorted(([one], [other]) => (other?.size ?? 0) - (one?.size ?? 0))
    .map((places) => places.map(({ line, path, size }) => ({ path, line, size })))
}
