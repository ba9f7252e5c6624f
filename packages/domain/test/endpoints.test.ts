/**
 * The paths, methods and query parameters of the contract and its decisions, compared with the three HTTP contracts.
 */
import { assert, describe, it } from "@effect/vitest"
import { OpenApi } from "effect/http-api"
import { EdgeApi } from "../src/edge-api/EdgeApi.ts"
import { EdgeStreamQuery, HubStreamQuery } from "../src/http/EventStream.ts"
import { closeCodes } from "../src/http/StreamEnd.ts"
import { GatewayApi } from "../src/gateway-api/GatewayApi.ts"
import { HubApi } from "../src/hub-api/HubApi.ts"
import { column, contract, decisions, quoted, sorted, table } from "./ContractDocument.ts"

interface Operation {
  readonly method: string
  readonly path: string
  readonly query: ReadonlyArray<string>
}

const operationsOf = (document: OpenApi.OpenAPISpec): ReadonlyArray<Operation> =>
  Object.entries(document.paths).flatMap(([path, item]) =>
    (["get", "post", "patch", "delete"] as const).flatMap((method) => {
      const operation = item[method]
      const parameters = operation?.parameters ?? []
      const query = parameters.flatMap((parameter) => (parameter.in === "query" ? [parameter.name] : []))
      return operation === undefined ? [] : [{ method: method.toUpperCase(), path, query }]
    })
  )

const edge = operationsOf(OpenApi.fromApi(EdgeApi))
const hub = operationsOf(OpenApi.fromApi(HubApi))
const gateway = operationsOf(OpenApi.fromApi(GatewayApi))

/** The operations there, for any method where the document names none; `*` stands for any ending. */
const answering = (operations: ReadonlyArray<Operation>, method: string, path: string) =>
  operations.filter(
    (operation) =>
      (method === "any" || operation.method === method) &&
      (path.endsWith("*") ? operation.path.startsWith(path.slice(0, -1)) : operation.path === path)
  )

const operation =
  /^((?:GET|POST|PATCH|DELETE)(?:\/(?:GET|POST|PATCH|DELETE))*)? ?([/…a-z][^ ?]*)(?:\?(\S*))?$/

/**
 * The operations of one row: `GET/POST /a`, `GET /b?x=&y=`, then `POST …/c` or `…/c` under the path before it (or under `/client`, where it
 * repeats that path's end), and bare names under `base`.
 */
const operationsIn = (texts: ReadonlyArray<string>, base = ""): ReadonlyArray<Operation> => {
  let before = base
  return texts.flatMap((text) => {
    const [, methods, named = "", queries = ""] = operation.exec(text) ?? []
    if (methods === undefined && !named.startsWith("…")) return []
    const under = named.slice(1)
    const path = named.startsWith("/")
      ? named
      : !named.startsWith("…")
        ? `${base}${named}`
        : `${under.startsWith(before.slice("/client".length)) ? "/client" : before}${under}`
    if (named.startsWith("/")) before = path
    const query = [...queries.matchAll(/(\w+)=/g)].map((match) => match[1] ?? "")
    return (methods ?? "any").split("/").map((method) => ({ method, path, query }))
  })
}

/** What later decisions and ADRs added. */
const added = new Set([
  "GET /health/live",
  "GET /v1/grants",
  "DELETE /v1/grants/{id}",
  "POST /v1/runs/{id}/pause",
  "POST /v1/runs/{id}/resume",
  "POST /v1/runs/{id}/finish",
  "POST /v1/runs/{id}/repository/restore",
  "POST /v1/runs/{id}/artifacts",
  "GET /v1/runs/{id}/raw",
  "GET /v1/runs/{id}/worktree/commits",
  "GET /v1/runs/{id}/changes",
  "GET /v1/runs/{id}/changes/files/{fileId}",
  "POST /v1/runs/{id}/changes/accept",
  "POST /v1/runs/{id}/changes/reject",
  "POST /v1/runs/{id}/changes/undo",
  "GET /v1/layers",
  "DELETE /v1/runs/{id}/layer",
  "GET /v1/workspaces/{id}/find",
  "GET /v1/inputs",
  "GET /v1/inputs/{id}",
  "POST /v1/inputs/answer",
  "POST /v1/link/rotate",
  "GET /v1/presets",
  "POST /v1/presets",
  "PATCH /v1/presets/{id}",
  "DELETE /v1/presets/{id}",
  "POST /integrations/slack/events",
  "POST /integrations/slack/card-actions"
])

describe("endpoints", () => {
  for (const [heading, operations] of [
    ["Hub", hub],
    ["Edge (local, loopback)", edge]
  ] as const) {
    const rows = table(contract.slice(contract.indexOf("## Endpoints")), heading).filter(
      (row) => row[0] !== "WebSocket"
    )
    for (const row of rows) {
      for (const path of column(row, 1).split(" and ")) {
        it(`contract: ${column(row, 0)} ${path}`, () => {
          assert.isNotEmpty(answering(operations, column(row, 0), path))
        })
      }
    }
  }

  const decided = {
    edge: table(decisions, "Edge API").flatMap((row) => operationsIn(quoted(column(row, 0)))),
    hub: table(decisions, "Hub API").flatMap((row) => operationsIn(quoted(column(row, 1)), "/client/auth/")),
    gateway: table(decisions, "Gateway").flatMap((row) => operationsIn(quoted(column(row, 1))))
  }

  it("finds the decisions it is about to check", () => {
    assert.isAtLeast(decided.edge.length, 24)
    assert.isAtLeast(decided.hub.length, 40)
    assert.isAtLeast(decided.gateway.length, 3)
  })

  for (const [name, operations] of [
    ["edge", edge],
    ["hub", hub],
    ["gateway", gateway]
  ] as const) {
    for (const { method, path, query } of decided[name]) {
      it(`${name}: ${method} ${path}`, () => {
        const found = answering(operations, method, path)
        assert.isNotEmpty(found)
        for (const parameter of query) {
          assert.isTrue(
            found.some((operation) => operation.query.includes(parameter)),
            `?${parameter}=`
          )
        }
      })
    }
  }

  it.each([
    ["edge", edge],
    ["gateway", gateway]
  ] as const)("%s serves nothing that was not decided", (name, operations) => {
    const expected = new Set(decided[name].map(({ method, path }) => `${method} ${path}`))
    assert.deepStrictEqual(
      operations
        .map(({ method, path }) => `${method} ${path}`)
        .filter((operation) => !expected.has(operation) && !added.has(operation)),
      []
    )
  })

  it("the event streams", () => {
    const edgeRow = table(decisions, "Edge API").find((row) => column(row, 0).startsWith("WebSocket")) ?? []
    const hubRow = table(decisions, "Hub API").find((row) => column(row, 1).includes("WebSocket")) ?? []
    const queryOf = (text: string, path: string) =>
      [...((text.split(`${path}?`)[1] ?? "").split("`")[0]?.matchAll(/(\w+)=/g) ?? [])].map(
        (match) => match[1] ?? ""
      )
    assert.deepStrictEqual(
      sorted(queryOf(column(edgeRow, 0), "/v1/events")),
      sorted(Object.keys(EdgeStreamQuery.fields))
    )
    assert.includeMembers(Object.keys(HubStreamQuery.fields), queryOf(column(hubRow, 1), "/client/events"))
    const codes = [...column(edgeRow, 1).matchAll(/with (\d{4})/g)].map((match) => Number(match[1]))
    // 1011 where stored events are damaged: ADR 29.
    assert.deepStrictEqual(
      Object.values(closeCodes).filter((code) => code !== 1011),
      codes
    )
  })
})
