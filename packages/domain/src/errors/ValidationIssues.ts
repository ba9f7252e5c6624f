/**
 * What a schema refused, as issues that a caller may see: where and what was expected.
 *
 * Nothing of the input is repeated. Messages come from the schema alone, and a path names only keys that the schema declares: the key
 * of a free-form record shows as `*`.
 */
import { SchemaAST, SchemaIssue } from "effect"
import type { ValidationIssue } from "./ErrorTable.ts"

const expected = (what: unknown) => (typeof what === "string" ? `Expected ${what}` : "Expected a valid value")

/** Written by `HttpApiBuilder` for a body that is no JSON at all; the only free message that is let through. */
const invalidJson = "Expected a valid JSON body"

// Built again without the input, so that the message never repeats an input that a parser retains.
const typeMessage = (ast: SchemaAST.AST) => SchemaIssue.defaultLeafHook(new SchemaIssue.InvalidType(ast))

const declares = (ast: SchemaAST.AST, key: PropertyKey): boolean =>
  SchemaAST.isUnion(ast)
    ? ast.types.some((member) => declares(member, key))
    : typeof key === "number" ||
      (SchemaAST.isObjects(ast) && ast.propertySignatures.some(({ name }) => name === key))

const walk = (
  issue: SchemaIssue.Issue,
  path: ReadonlyArray<string>,
  within: SchemaAST.AST | undefined,
  out: Array<ValidationIssue>
): void => {
  const say = (message: string) => out.push({ path: path.join("."), message })
  switch (issue._tag) {
    case "Pointer": {
      const segments = issue.path.map((key) =>
        within !== undefined && declares(within, key) ? String(key) : "*"
      )
      return walk(issue.issue, [...path, ...segments], undefined, out)
    }
    case "Encoding":
      return walk(issue.issue, path, within, out)
    case "Filter":
      return issue.issue._tag === "Pointer" || issue.issue._tag === "Composite"
        ? walk(issue.issue, path, within, out)
        : void say(expected(issue.filter.annotations?.["expected"]))
    case "Composite":
      return issue.issues.forEach((inner) => walk(inner, path, issue.ast, out))
    case "AnyOf":
      return issue.issues.length === 0
        ? void say(typeMessage(issue.ast))
        : issue.issues.forEach((inner) => walk(inner, path, issue.ast, out))
    case "InvalidType":
      return void say(typeMessage(issue.ast))
    case "InvalidValue":
      return void say(
        issue.annotations?.message === invalidJson ? invalidJson : expected(issue.annotations?.["expected"])
      )
    case "MissingKey":
      return void say("Required")
    case "UnexpectedKey":
      return void say("Not a field of this object")
    case "OneOf":
      return void say("Expected exactly one of the alternatives")
    case "Forbidden":
      return void say("Not allowed")
  }
}

/** The issues of one refused input, at most 32 of them. Paths are dotted (`input.text`), empty for the whole. */
export const issuesOf = (issue: SchemaIssue.Issue): ReadonlyArray<ValidationIssue> => {
  const out: Array<ValidationIssue> = []
  walk(issue, [], undefined, out)
  return out.slice(0, 32)
}
