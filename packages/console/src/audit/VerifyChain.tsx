/** Has the Hub follow the chain of a project's trail, and says what it found. */
import type { ProjectId } from "@corral/domain/identity/Ids"
import { useMutation } from "@tanstack/react-query"
import { hub } from "../api/Hub.ts"
import { useWords } from "../text/Language.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { auditWords } from "./messages.ts"

export const VerifyChain = ({ projectId }: { readonly projectId: ProjectId }) => {
  const words = useWords(auditWords)
  const verify = useMutation({ mutationFn: () => hub.audit.verify({ query: { projectId } }) })
  const { data } = verify
  return (
    <>
      <button type="button" className="button" disabled={verify.isPending} onClick={() => verify.mutate()}>
        {words.verify}
      </button>
      <span
        role="status"
        className={data === undefined ? "hidden" : data.ok ? "verdict good" : "verdict bad"}
      >
        {data === undefined
          ? ""
          : data.ok
            ? words.verified(data.checked)
            : words.broken(data.brokenAtSeq ?? data.checked)}
      </span>
      <RefusalNote error={verify.error} />
    </>
  )
}
