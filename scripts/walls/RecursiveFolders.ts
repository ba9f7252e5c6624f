/**
 * Calls of Node's recursive creation of folders, which never ends below a folder that accepts no entries. Services use `makeFolder`
 * of `@corral/service`, because the paths are settings.
 */
import { type Argument, Visitor } from "oxc-parser"
import { parse } from "./Trees.ts"

const isRecursive = (options: Argument | undefined): boolean =>
  options?.type === "ObjectExpression" &&
  options.properties.some(
    (each) => each.type === "Property" && each.key.type === "Identifier" && each.key.name === "recursive"
  )

/** Lines of `mkdir` and `mkdirSync` with the option `recursive`, also as members. */
export const recursiveFoldersIn = (path: string, text: string): ReadonlyArray<number> => {
  // Few modules create folders, and parsing is nearly all of the work.
  if (!text.includes("mkdir")) return []
  const found: Array<number> = []
  new Visitor({
    CallExpression: ({ arguments: [, options], callee, start }) => {
      const name =
        callee.type === "Identifier"
          ? callee.name
          : callee.type === "MemberExpression" && callee.property.type === "Identifier"
            ? callee.property.name
            : ""
      if (/^mkdir(?:Sync)?$/.test(name) && isRecursive(options))
        found.push(text.slice(0, start).split("\n").length)
    }
  }).visit(parse(path, text).program)
  return found
}
