/** Failures of error objects: what a handler has converted, as the services made it. */
import type { Coded, ErrorCode } from "./ErrorTable.ts"
import { failureName } from "./FailureName.ts"
import * as Failures from "./Failures.ts"

type FailureClass = new (options: {
  readonly message: string
  readonly details?: unknown
}) => Failures.Failure

/** The failure that a handler has converted to this error object. */
export const failureOfObject = ({ code, details, message }: Coded<ErrorCode>): Failures.Failure => {
  // Each class has the name of its code, and the type of an error object ties the details to the code.
  const FailureOfCode = Reflect.get(Failures, failureName(code)) as FailureClass
  return new FailureOfCode({ message, ...(details === undefined ? {} : { details }) })
}
