/** Ends a run, once that is confirmed. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { hub } from "../api/Hub.ts"
import { useWords } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/ConfirmDialog.tsx"
import { runWords } from "./messages.ts"

export const CancelRun = ({ id }: { readonly id: HubRun["id"] }) => {
  const words = useWords(runWords)
  const client = useQueryClient()
  const cancel = useMutation({
    mutationFn: () => hub.runs.cancel({ params: { id } }),
    onSettled: () => client.invalidateQueries({ queryKey: ["runs"] })
  })
  return (
    <ConfirmDialog
      trigger={words.cancel}
      triggerClass="button"
      title={words.cancelTitle}
      confirm={words.cancel}
      onConfirm={() => cancel.mutateAsync()}
    >
      {words.cancelText}
    </ConfirmDialog>
  )
}
