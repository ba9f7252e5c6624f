/** Tables of what runs ask people, `approvals` and `inputs`: one row per request, with the request and its resolution as a document. */
import { Approval } from "@corral/domain/approval/Approval"
import { DeviceId, ProjectId, RunId } from "@corral/domain/identity/Ids"
import { InputRequest } from "@corral/domain/input/InputRequest"
import { Schema } from "effect"
import { jsonColumn, type StoredRows, storedRows } from "../store/StoredRows.ts"

/** A row of such a table, with the place of the run. */
export interface RequestRow<Request> {
  readonly run_id: RunId
  readonly project_id: ProjectId
  readonly target_id: DeviceId
  readonly document: Request
}

export interface RequestTable<Request> {
  readonly name: "approvals" | "inputs"
  /** Column of the document. */
  readonly column: string
  /** With the `id` by which lists are ordered. */
  readonly columns: string
  readonly rows: StoredRows<RequestRow<Request>>
}

const requestTable = <S extends Schema.ConstraintDecoder<unknown>>(
  name: "approvals" | "inputs",
  column: string,
  document: S
): RequestTable<S["Type"]> => ({
  name,
  column,
  columns: `id, run_id, project_id, target_id, ${column} AS document`,
  rows: storedRows(
    name,
    Schema.Struct({
      run_id: RunId,
      project_id: ProjectId,
      target_id: DeviceId,
      document: jsonColumn(document)
    })
  )
})

export const approvalTable = requestTable("approvals", "approval", Approval)
export const inputTable = requestTable("inputs", "input", InputRequest)

/** Each table, by the kind of its requests. */
export const requestTables = { approvals: approvalTable, inputs: inputTable }
export type RequestKind = keyof typeof requestTables

/** Documents of both tables. */
export interface RequestDocuments {
  readonly approvals: ReadonlyArray<Approval>
  readonly inputs: ReadonlyArray<InputRequest>
}
