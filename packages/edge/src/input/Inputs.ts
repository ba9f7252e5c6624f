/** Rows of input requests: one per question, form or plan, with its answer without secrets. */
import type { InputRequest } from "@corral/domain/input/InputRequest"
import { edgeRequestRows } from "../store/EdgeRequestRows.ts"

export const {
  put: putInput,
  replace: replaceInput,
  find: findInput,
  page: pageOfInputs
} = edgeRequestRows<InputRequest>("inputs", "input")
