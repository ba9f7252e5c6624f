/** Has the Hub follow the chain of a project's trail, and says what it found. */
import type { ProjectId } from "@corral/domain/identity/Ids"
import { useMutation } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { useMessages } from "../text/Language.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { auditMessages } from "./messages.ts"

export const VerifyChain = ({ projectId }: { readonly projectId: ProjectId }) => {
  const messages = useMessages(auditMessages)
  const verify = useMutation({ mutationFn: () => hubApi.audit.verify({ query: { projectId } }) })
  const { data } = verify
  return (
    <>
      <button type="button" className="button" disabled={verify.isPending} onClick={() => verify.mutate()}>
        {messages.verify}
      </button>
      <span
        role="status"
        className={data === undefined ? "hidden" : data.ok ? "verdict good" : "verdict bad"}
      >
        {data === undefined
          ? ""
          : data.ok
            ? messages.verified(data.checked)
            : messages.broken(data.brokenAtSeq ?? data.checked)}
      </span>
      <RefusalNote error={verify.error} />
    </>
  )
}
