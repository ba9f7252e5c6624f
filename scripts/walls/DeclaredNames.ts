/**
 * Declared names of the private idiom. A name says what a value is: `message`, `cached`, `isGone`.
 *
 * Does not: names of the data of others. Keys of object literals and schemas, and bindings that repeat a key, are not declared here.
 */
import { type BindingPattern, type Function, type ParamPattern, Visitor } from "oxc-parser"
import { parse } from "./Trees.ts"

/** Names that say nothing about their value, with or without `#`, in any capitals. */
export const refusedNames = [
  "asked",
  "asking",
  "began",
  "begun",
  "came",
  "deed",
  "doing",
  "door",
  "fed",
  "given",
  "gone",
  "hear",
  "heard",
  "judged",
  "judging",
  "kept",
  "known",
  "made",
  "meant",
  "mend",
  "misfits",
  "mood",
  "owed",
  "own",
  "patience",
  "said",
  "saw",
  "say",
  "says",
  "spoken",
  "tell",
  "tells",
  "threw",
  "told",
  "unkept",
  "whisper",
  "whispered",
  "worth"
] as const

const refused: ReadonlySet<string> = new Set(refusedNames)

const anyName = `(?:${refusedNames.join("|")})`

/**
 * A declared name follows a keyword, or a sign follows it. Most texts have none of these words there, although many have one in prose: parsing is nearly
 * all of the work.
 */
const anyRefused = new RegExp(
  String.raw`\b(?:(?:const|let|var|function|class|interface|type)\s+${anyName}\b|${anyName}\s*[,:=;)}\]?!<({/])`,
  "i"
)

export interface RefusedName {
  readonly line: number
  readonly name: string
}

interface Declared {
  readonly start: number
  readonly name: string
}

/** Names that a pattern binds. `{ key }` repeats the name of a key. */
const namesIn = (pattern: BindingPattern): ReadonlyArray<Declared> => {
  switch (pattern.type) {
    case "Identifier":
      return [pattern]
    case "AssignmentPattern":
      return namesIn(pattern.left)
    case "ArrayPattern":
      return pattern.elements.flatMap((each) =>
        each === null ? [] : namesIn(each.type === "RestElement" ? each.argument : each)
      )
    case "ObjectPattern":
      return pattern.properties.flatMap((each) => {
        if (each.type === "RestElement") return namesIn(each.argument)
        return each.shorthand ? [] : namesIn(each.value)
      })
  }
}

/** Variables, parameters, functions, types, and members of types and classes. */
const declaredNames = (path: string, text: string): ReadonlyArray<Declared> => {
  const found: Array<Declared> = []
  const add = (id: Declared | null) => void (id !== null && found.push(id))
  const addMember = ({ key }: { readonly key: { readonly type: string; readonly start: number } }) => {
    if ("name" in key && typeof key.name === "string") add({ start: key.start, name: key.name })
  }
  const addParameters = ({ params }: { readonly params: ReadonlyArray<ParamPattern> }) => {
    for (const each of params) {
      if (each.type === "TSParameterProperty") found.push(...namesIn(each.parameter))
      else found.push(...namesIn(each.type === "RestElement" ? each.argument : each))
    }
  }
  const addFunction = (node: Function) => {
    add(node.id)
    addParameters(node)
  }
  new Visitor({
    VariableDeclarator: ({ id }) => void found.push(...namesIn(id)),
    FunctionDeclaration: addFunction,
    FunctionExpression: addFunction,
    ArrowFunctionExpression: addParameters,
    TSFunctionType: addParameters,
    ClassDeclaration: ({ id }) => add(id),
    TSInterfaceDeclaration: ({ id }) => add(id),
    TSTypeAliasDeclaration: ({ id }) => add(id),
    TSPropertySignature: addMember,
    TSMethodSignature: (node) => {
      addMember(node)
      addParameters(node)
    },
    PropertyDefinition: addMember,
    MethodDefinition: addMember
  }).visit(parse(path, text).program)
  return found
}

export const refusedNamesIn = (path: string, text: string): ReadonlyArray<RefusedName> =>
  (anyRefused.test(text) ? declaredNames(path, text) : [])
    .filter(({ name }) => refused.has(name.toLowerCase()))
    .map(({ name, start }) => ({ name, line: text.slice(0, start).split("\n").length }))
