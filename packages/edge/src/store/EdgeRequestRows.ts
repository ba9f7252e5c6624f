/**
 * Rows of requests to people: approvals, one per requested action, with its outcome; and input requests, one per question, form or
 * plan, with its answer without secrets.
 *
 * Guarantees: a row is written in the transaction of the events that request and resolve it. It outlives the run and the process.
 */
import type { Approval } from "@corral/domain/approval/Approval"
import type { RunId } from "@corral/domain/identity/Ids"
import type { InputRequest } from "@corral/domain/input/InputRequest"
import type { Store, Write } from "./Store.ts"
import { parseStored } from "./StoreDamage.ts"

interface StoredRequest {
  readonly id: string
  readonly runId: RunId
  readonly state: string
}

export interface RequestPage<State> {
  readonly after?: string | undefined
  readonly runId?: RunId | undefined
  readonly state?: State | undefined
  readonly limit: number
}

export interface EdgeRequestRows<A extends StoredRequest> {
  readonly put: (request: A) => Write
  readonly replace: (request: A) => Write
  readonly find: (store: Store["Service"], id: A["id"]) => A | undefined
  /** Up to `limit` requests after `after`, oldest first. */
  readonly page: (store: Store["Service"], options: RequestPage<A["state"]>) => ReadonlyArray<A>
}

/** Rows of a table, whose column of the same kind holds the request as JSON. */
const edgeRequestRows = <A extends StoredRequest>(
  table: "approvals" | "inputs",
  column: "approval" | "input"
): EdgeRequestRows<A> => {
  const select = `SELECT ${column} AS request FROM ${table}`
  // This program wrote the rows from values of that type.
  const parse = (row: { readonly request: string }): A => parseStored<A>(row.request, column)
  return {
    put: (request) => [
      `INSERT INTO ${table} (id, run_id, state, ${column}) VALUES (?, ?, ?, ?)`,
      request.id,
      request.runId,
      request.state,
      JSON.stringify(request)
    ],
    replace: (request) => [
      `UPDATE ${table} SET state = ?, ${column} = ? WHERE id = ?`,
      request.state,
      JSON.stringify(request),
      request.id
    ],
    find: (store, id) => {
      const row = store.get<{ readonly request: string }>(`${select} WHERE id = ?`, id)
      return row === undefined ? undefined : parse(row)
    },
    page: (store, { after = "", limit, runId, state }) => {
      const filters = [
        ...(runId === undefined ? [] : [["run_id", runId] as const]),
        ...(state === undefined ? [] : [["state", state] as const])
      ]
      const where = ["id > ?", ...filters.map(([name]) => `${name} = ?`)].join(" AND ")
      const values = filters.map(([, value]) => value)
      return store
        .all<{ readonly request: string }>(
          `${select} WHERE ${where} ORDER BY id LIMIT ?`,
          after,
          ...values,
          limit
        )
        .map(parse)
    }
  }
}

export const {
  put: putApproval,
  replace: replaceApproval,
  find: findApproval,
  page: pageOfApprovals
} = edgeRequestRows<Approval>("approvals", "approval")

export const {
  put: putInput,
  replace: replaceInput,
  find: findInput,
  page: pageOfInputs
} = edgeRequestRows<InputRequest>("inputs", "input")
