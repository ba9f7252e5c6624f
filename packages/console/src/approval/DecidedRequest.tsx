/** Decided request. An edited request shows the allowed input first, then the requested one. */
import type { ApprovalRequest } from "@corral/domain/approval/Approval"
import { useWords } from "../text/Language.tsx"
import { EditView } from "./EditView.tsx"
import { RequestView } from "./RequestView.tsx"
import { approvalWords } from "./messages.ts"

interface Props {
  readonly request: ApprovalRequest
  readonly allowedInput: unknown
}

export const DecidedRequest = ({ allowedInput, request }: Props) => {
  const words = useWords(approvalWords)
  if (allowedInput === undefined) return <RequestView request={request} isDecided />
  return (
    <>
      <EditView requested={request.input} allowed={allowedInput} />
      <details>
        <summary>{words.wholeRequest}</summary>
        <RequestView request={request} isDecided />
      </details>
    </>
  )
}
