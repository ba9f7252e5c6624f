/** State of a changeset after an action. Pure, as the protocol defines it. An action of an unknown type changes nothing. */
import type { ChangesetAction } from "../protocol/Actions.ts"
import type { ChangesetState, ErrorInfo } from "../protocol/State.ts"
import { withItem, withOptional, withoutItem } from "./SessionReducer.ts"

/** The thing with another status; an error only belongs to the status `error`. */
const withStatus = <Thing extends { readonly status: string; readonly error?: ErrorInfo | undefined }>(
  thing: Thing,
  status: Thing["status"],
  error: ErrorInfo | undefined
): Thing => {
  const { error: _, ...rest } = thing
  const next = { ...rest, status, ...(status === "error" ? { error } : {}) }
  return next as unknown as Thing // the same fields, with the status and error of the thing's type
}

const withReview = (state: ChangesetState, files: ReadonlySet<string>, reviewed: boolean): ChangesetState =>
  state.files.some((file) => files.has(file.id) && file.reviewed !== reviewed)
    ? { ...state, files: state.files.map((file) => (files.has(file.id) ? { ...file, reviewed } : file)) }
    : state

export const changesetReducer = (state: ChangesetState, action: ChangesetAction): ChangesetState => {
  switch (action.type) {
    case "changeset/statusChanged":
      return withStatus(state, action.status, action.error)
    case "changeset/fileSet":
      return { ...state, files: withItem(state.files, action.file, ({ id }) => id === action.file.id) }
    case "changeset/fileRemoved": {
      const files = withoutItem(state.files, ({ id }) => id === action.fileId)
      return files === state.files ? state : { ...state, files }
    }
    case "changeset/filesReviewChanged":
      return withReview(state, new Set(action.files), action.reviewed)
    case "changeset/contentChanged":
      return action.operations === undefined
        ? { ...state, files: action.files }
        : { ...state, files: action.files, operations: action.operations }
    case "changeset/operationsChanged":
      return withOptional(state, "operations", action.operations)
    case "changeset/operationStatusChanged":
      return state.operations?.some(({ id }) => id === action.operationId) === true
        ? {
            ...state,
            operations: state.operations.map((operation) =>
              operation.id === action.operationId
                ? withStatus(operation, action.status, action.error)
                : operation
            )
          }
        : state
    case "changeset/cleared":
      return state.files.length === 0 ? state : { ...state, files: [] }
    default:
      return state
  }
}
