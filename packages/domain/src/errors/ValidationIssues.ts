/**
 * Validation issues of a schema error: paths and expected values, for the caller.
 *
 * Guarantees: no issue contains input. Messages come from the schema. Paths contain only keys that the schema declares; keys of records
 * are `*`.
 */
import { SchemaAST, SchemaIssue } from "effect"
import type { ValidationIssue } from "./ErrorTable.ts"

const expected = (what: unknown) => (typeof what === "string" ? `Expected ${what}` : "Expected a valid value")

/** Message of `HttpApiBuilder` for a body that is not JSON: the only message that is passed on unchanged. */
const invalidJson = "Expected a valid JSON body"

const notAField = "Not a field of this object"

// A new issue without the input: the original message can contain it.
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
  issues: Array<ValidationIssue>
): void => {
  const report = (message: string) => issues.push({ path: path.join("."), message })
  switch (issue._tag) {
    case "Pointer": {
      const segments = issue.path.map((key) =>
        within !== undefined && declares(within, key) ? String(key) : "*"
      )
      return walk(issue.issue, [...path, ...segments], undefined, issues)
    }
    case "Encoding":
      return walk(issue.issue, path, within, issues)
    case "Filter":
      return issue.issue._tag === "Pointer" || issue.issue._tag === "Composite"
        ? walk(issue.issue, path, within, issues)
        : void report(expected(issue.filter.annotations?.["expected"]))
    case "Composite":
      return issue.issues.forEach((inner) => walk(inner, path, issue.ast, issues))
    case "AnyOf":
      return issue.issues.length === 0
        ? void report(typeMessage(issue.ast))
        : issue.issues.forEach((inner) => walk(inner, path, issue.ast, issues))
    case "InvalidType":
      return void report(SchemaAST.isNever(issue.ast) ? notAField : typeMessage(issue.ast))
    case "InvalidValue":
      return void report(
        issue.annotations?.message === invalidJson ? invalidJson : expected(issue.annotations?.["expected"])
      )
    case "MissingKey":
      return void report("Required")
    case "UnexpectedKey":
      return void report(notAField)
    case "OneOf":
      return void report("Expected exactly one of the alternatives")
    case "Forbidden":
      return void report("Not allowed")
  }
}

/** The first 32 issues of an invalid input. Paths are dotted (`input.text`), empty for the whole value. */
export const issuesOf = (issue: SchemaIssue.Issue): ReadonlyArray<ValidationIssue> => {
  const issues: Array<ValidationIssue> = []
  walk(issue, [], undefined, issues)
  return issues.slice(0, 32)
}
