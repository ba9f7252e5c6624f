/**
 * The founding contract and its decisions, read as documents and compared with the code: a name, type or status that the documents have
 * and the code lacks fails here, and so does a code or an event that no document knows.
 */
import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import {
  ActionClass,
  ApprovalState,
  DecideApproval,
  Decision,
  DecisionScope,
  Risk
} from "../src/approval/Approval.ts"
import { authorityMatrix } from "../src/access/Authorization.ts"
import { DeviceState } from "../src/device/Device.ts"
import { ErrorObject, errorTable } from "../src/errors/ErrorTable.ts"
import { HubRunStatus } from "../src/hub-api/HubRun.ts"
import { page } from "../src/http/Page.ts"
import { ProjectRole } from "../src/project/Project.ts"
import { CreateRun, RunMode } from "../src/run/Run.ts"
import { Envelope, eventTypes } from "../src/run/RunEvent.ts"
import { SessionItem, SessionState } from "../src/session/Session.ts"
import { TaskState } from "../src/task/Task.ts"
import { column, contract, decision, quoted, sorted, table, words } from "./ContractDocument.ts"

/** Field → `string`, `integer`, `array`, `object` or `string or null`; `required` apart. */
const fields = (schema: Schema.Constraint) => {
  const { schema: root, definitions } = Schema.toJsonSchemaDocument(schema)
  type Json = { readonly [key: string]: unknown }
  const resolve = (json: Json): Json => {
    const name = /#\/\$defs\/(.+)$/.exec(String(json["$ref"]))?.[1]
    return name === undefined ? json : resolve(definitions[name] as Json)
  }
  const typeOf = (json: Json): string => {
    const { type, anyOf } = resolve(json)
    return anyOf === undefined
      ? String(type)
      : [...new Set((anyOf as ReadonlyArray<Json>).map(typeOf))].join(" or ")
  }
  const { properties, required } = resolve(root) as {
    properties: Record<string, Json>
    required: ReadonlyArray<string>
  }
  return {
    types: Object.fromEntries(Object.entries(properties).map(([name, json]) => [name, typeOf(json)])),
    required: new Set(required)
  }
}

const documentedTypes = (heading: string) =>
  Object.fromEntries(table(contract, heading).map((row) => [column(row, 0), column(row, 1)]))

/** The codes of a sentence: `a, b, c. …` after a colon. */
const quotedCodes = (sentence: string) => words([sentence.replace(/^.*?:/, "").replace(/\..*$/, "")])

describe("the founding contract", () => {
  const contractCodes = table(contract, "Errors")

  it("error table", () => {
    assert.deepStrictEqual(
      contractCodes.map(([code]) => [code, errorTable[code as keyof typeof errorTable]?.status]),
      contractCodes.map(([code, status]) => [code, Number(status)])
    )
  })

  it("errors beyond the table", () => {
    const others = contract.find((line) => line.startsWith("Other codes named in the authorization matrix:"))
    const named = quotedCodes(others ?? "")
    const decided = [
      ...[...decision("errors beyond the table").matchAll(/`([a-z_]+)` (\d{3})/g)].map(([, code, status]) => [
        code,
        status
      ]),
      ...[...decision("idempotency").matchAll(/(\d{3}) `([a-z_]+)`/g)].map(([, status, code]) => [
        code,
        status
      ])
    ]
    assert.isAbove(decided.length, 16)
    // The third round of decisions.
    decided.push(
      ["budget_exceeded", "402"],
      ["changes_unknown", "409"],
      ["changes_outdated", "409"],
      ["merge_conflict", "409"],
      ["run_active", "409"],
      ["input_already_resolved", "409"],
      ["input_expired", "410"],
      ["work_unfinished", "504"]
    )
    assert.isNotEmpty(named)
    const documented = new Map(
      [...contractCodes, ...decided].map(([code = "", status]) => [code, Number(status)])
    )
    for (const code of named) assert.isTrue(documented.has(code), code)
    assert.deepStrictEqual(
      sorted(Object.entries(errorTable).map(([code, { status }]) => `${code} ${status}`)),
      sorted([...documented].map(([code, status]) => `${code} ${status}`))
    )
  })

  it("event vocabulary", () => {
    const names = table(contract, "Event vocabulary").flatMap((row) =>
      column(row, 1)
        .split(",")
        .map((name) => name.trim())
    )
    // Decided since, with ADR 0032, ADR 0062, ADR 0071, ADR 0095, ADR 0096, ADR 0101, ADR 0102 and ADR 0139.
    const added = [
      "runtime.retrying",
      "run.protected.changed",
      "run.repository.changed",
      "run.changes.unknown",
      "run.paused",
      "run.resumed",
      "run.input.requested",
      "run.input.resolved",
      "run.work.started",
      "run.work.ended",
      "run.turn.started",
      "run.turn.ended",
      "run.usage.updated",
      "run.steps.updated",
      "run.notice"
    ]
    assert.deepStrictEqual(sorted(eventTypes), sorted([...names, ...added]))
  })

  it("event envelope", () => {
    const { types, required } = fields(Envelope)
    assert.deepStrictEqual(types, documentedTypes("Event envelope"))
    const optional = table(contract, "Event envelope").filter((row) =>
      /when (applicable|known)|applicable, when/.test(column(row, 2))
    )
    assert.deepStrictEqual(
      sorted(Object.keys(types).filter((name) => !required.has(name))),
      sorted(optional.map((row) => column(row, 0)))
    )
  })

  it("error object", () => {
    const { types, required } = fields(ErrorObject)
    assert.deepStrictEqual(types, documentedTypes("Error object"))
    assert.deepStrictEqual(sorted(required), ["code", "message", "requestId"])
  })

  it("list envelope", () => {
    const { types, required } = fields(page(SessionItem))
    assert.deepStrictEqual(types, documentedTypes("List envelope"))
    assert.strictEqual(required.size, 3)
  })

  it("session item", () => {
    const { types, required } = fields(SessionItem)
    const { openChanges, unread, ...documented } = types
    assert.deepStrictEqual(documented, documentedTypes("Session item"))
    assert.deepStrictEqual(sorted(required), sorted(Object.keys(documented)))
    // The second round of decisions adds a read position per person and session.
    assert.strictEqual(unread, "integer")
    // The third adds change sets.
    assert.strictEqual(openChanges, "integer")
  })

  it("create-run request", () => {
    const { types, required } = fields(CreateRun)
    const documented = documentedTypes("Create-run request")
    assert.deepInclude(types, documented)
    assert.deepStrictEqual(sorted(required), sorted(Object.keys(documented)))
  })

  it("authorization matrix", () => {
    const rows = table(contract, "Authorization matrix")
    const ours = Object.values(authorityMatrix).flatMap((row) => ("contract" in row ? [row] : []))
    assert.deepStrictEqual(
      ours.map((row) => row.contract),
      rows.map((row) => column(row, 0)) as never
    )
    for (const [i, row] of rows.entries()) {
      const named = words([column(row, 2)]).filter((word) => Object.hasOwn(errorTable, word))
      const expected = named.length > 0 ? named : ["not_found"]
      assert.deepStrictEqual(sorted(ours[i]?.rejections ?? []), expected, column(row, 0))
    }
  })
})

describe("the decisions on resources", () => {
  it.each([
    ["run states", HubRunStatus],
    ["run modes", RunMode],
    ["session states", SessionState],
    ["task states", TaskState],
    ["approval states", ApprovalState],
    ["device states", DeviceState],
    ["project roles", ProjectRole]
  ] as const)("%s", (gap, schema) => {
    // The third round of decisions adds a state of runs.
    const added = gap === "run states" ? ["waiting_input"] : []
    assert.deepStrictEqual(sorted([...words(quoted(decision(gap))), ...added]), sorted(schema.literals))
  })

  it("action classes of approvals", () => {
    assert.deepStrictEqual(
      words(quoted(decision("action classes of approvals"))),
      sorted([...ActionClass.literals, ...Risk.literals])
    )
  })

  it("the decision on an approval", () => {
    const body = quoted(decision("`POST /v1/permissions/decide`"))[0] ?? ""
    const documented = Object.fromEntries(
      body
        .replaceAll(/[{}\\]/g, "")
        .split(",")
        .map((field) => {
          const [name = "", values = ""] = field.trim().split(":")
          return [name.replace("?", ""), { optional: name.endsWith("?"), values: words([values]) }]
        })
    )
    const { types, required } = fields(DecideApproval)
    assert.deepStrictEqual(sorted(Object.keys(documented)), sorted(Object.keys(types)))
    assert.deepStrictEqual(documented["decision"]?.values, sorted(Decision.literals))
    assert.deepStrictEqual(documented["scope"]?.values, sorted(DecisionScope.literals))
    for (const name of ["runId", "approvalId", "decision"]) assert.isTrue(required.has(name), name)
    for (const [name, { optional }] of Object.entries(documented))
      assert.isFalse(optional && required.has(name), name)
  })
})
