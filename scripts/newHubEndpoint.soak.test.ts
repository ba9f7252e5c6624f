/**
 * Drill: a new endpoint of the Hub, by the recipe. The compiler names the files of the next steps, and every kind of caller is answered by the table.
 *
 * Adds `GET /client/search/words` to a copy of the repository. It has no service.
 */
import { afterAll, assert, describe, it } from "@effect/vitest"
import { type FileEdit, recipeSteps, RecipeDrill } from "./RecipeDrill.ts"

const drill = new RecipeDrill()
const recipe = recipeSteps("Add a Hub endpoint", "Search")

const authority = '.annotate(RequiredAuthority, "session.open")\n      '
const endpoint: FileEdit = {
  path: "packages/domain/src/hub-api/Search.ts",
  before: '  .add(\n    HttpApiEndpoint.get("find"',
  after: `  .add(
    HttpApiEndpoint.get("words", "/client/search/words", {
      query: { q: SearchQuery },
      success: Schema.Struct({ words: Schema.Array(Schema.String) }),
      error: responses("schema_validation_failed")
    })
      ${authority}.annotate(OpenApi.Description, "The words that a search looks for."),
    HttpApiEndpoint.get("find"`
}
const handler: FileEdit = {
  path: "packages/hub/src/http/Search.ts",
  before: "    return handlers.handleAll({",
  after: `    return handlers.handleAll({
      words: Effect.fnUntraced(function* ({ query: { q } }) {
        yield* CurrentPrincipal
        return { words: q.trim().split(/\\s+/) }
      }, withErrorObjects),
`
}
const request: FileEdit = {
  path: "packages/hub/test/contract/AuthorizationRequests.ts",
  before: '  "search.find":',
  after: '  "search.words": get(() => "/client/search/words?q=hello"),\n  "search.find":'
}
const summary: FileEdit = {
  path: "scripts/openapi/OpenApiTexts.ts",
  before: '    "search.find":',
  after: '    "search.words": "List the words of a search",\n    "search.find":'
}

/** Tests that look at every endpoint. */
const tests = [
  "packages/domain/test/contract.test.ts",
  "packages/domain/test/http",
  "packages/client/test",
  "scripts/generated.test.ts",
  "scripts/prose.test.ts"
]

const namedIn = (step: number): ReadonlyArray<string> => recipe.get(step) ?? []

describe("A new endpoint of the Hub", { timeout: 900_000 }, () => {
  afterAll(() => drill.remove())

  it("is a type error in its handler and in the table of requests, and nowhere else", () => {
    assert.deepStrictEqual(namedIn(1), [endpoint.path])
    drill.apply([endpoint])
    assert.deepStrictEqual(drill.typeErrors(), [...namedIn(2), ...namedIn(3)].toSorted())
    assert.deepStrictEqual([...namedIn(2), ...namedIn(3)], [handler.path, request.path])
    drill.apply([handler, request])
    assert.deepStrictEqual(drill.typeErrors(), [])
  })

  it("has no documents without a summary, and no authority by default", () => {
    assert.match(String(drill.generate()), /search\.words/)
    drill.apply([summary])
    assert.include(namedIn(5), summary.path)
    const withoutAuthority = {
      path: endpoint.path,
      before: `${authority}.annotate(OpenApi.Description, "The words`,
      after: '.annotate(OpenApi.Description, "The words'
    }
    drill.apply([withoutAuthority])
    assert.match(String(drill.generate()), /search\.words declares no authority/)
    drill.revert([withoutAuthority])
  })

  it("changes the generated documents that the recipe names, and needs nothing else", () => {
    assert.deepStrictEqual(
      drill.generate(),
      namedIn(5)
        .filter((path) => path !== summary.path)
        .toSorted()
    )
    assert.deepStrictEqual(drill.failures(tests), [])
  })

  it("is answered as the table says, called by every kind of caller", () => {
    const file = "packages/hub/test/contract/Authorization.test.ts"
    assert.deepStrictEqual(drill.failures([file], "--testNamePattern", "search\\.words"), [])
  })
})
