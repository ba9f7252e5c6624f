/** Decided request. An edited request shows the allowed input first, then the requested one. */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { useMessages } from "../text/Language.tsx"
import { EditView } from "./EditView.tsx"
import { RequestView } from "./RequestView.tsx"
import { approvalMessages } from "./messages.ts"

interface Props {
  readonly request: ApprovalRequest
  readonly allowedInput: unknown
}

export const DecidedRequest = ({ allowedInput, request }: Props) => {
  const messages = useMessages(approvalMessages)
  if (allowedInput === undefined) return <RequestView request={request} isDecided />
  return (
    <>
      <EditView requested={request.input} allowed={allowedInput} />
      <details>
        <summary>{messages.wholeRequest}</summary>
        <RequestView request={request} isDecided />
      </details>
    </>
  )
}
