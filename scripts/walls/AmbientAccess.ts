/**
 * Uses of the clock, the network and the environment of the process. Services receive them, so that a test or an embedding program can replace
 * them; main files have them.
 */
import { Visitor } from "oxc-parser"
import { parse } from "./Trees.ts"

const MEMBERS = new Set(["Date.now", "process.env"])
const MENTIONED = /\bDate\.now\b|\bprocess\.env\b|\bfetch\(/

/** Modules that are the outer edge themselves, and why. */
const EXEMPT: ReadonlyArray<readonly [path: RegExp, reason: string]> = [
  [/\/main\.ts$/, "main files read the environment"],
  [/^packages\/console\//, "an application that runs in a browser"],
  [/^packages\/testing\//, "harness of the tests"],
  [/^packages\/conformance\/src\/Declaration\.ts$/, "looks whether an adapter reads the environment"],
  [/^packages\/hub\/src\/store\/PostgresProgram\.ts$/, "programs of PostgreSQL find others on PATH"]
]

/** `line: what` */
export const ambientAccessIn = (path: string, text: string): ReadonlyArray<string> => {
  // Few modules mention one, and parsing is nearly all of the work.
  if (!MENTIONED.test(text) || EXEMPT.some(([each]) => each.test(path))) return []
  const found: Array<string> = []
  const add = (what: string, start: number): void =>
    void found.push(`${text.slice(0, start).split("\n").length}: ${what}`)
  new Visitor({
    MemberExpression: ({ object, property, start }) => {
      if (object.type !== "Identifier" || property.type !== "Identifier") return
      const name = `${object.name}.${property.name}`
      if (MEMBERS.has(name)) add(name, start)
    },
    CallExpression: ({ callee, start }) => {
      if (callee.type === "Identifier" && callee.name === "fetch") add("fetch", start)
    }
  }).visit(parse(path, text).program)
  return found
}
