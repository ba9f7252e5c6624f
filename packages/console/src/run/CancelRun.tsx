/** Button that cancels a run, after a confirmation. */
import type { HubRun } from "@corral/domain/hub-api/HubRun"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { hubApi } from "../api/Hub.ts"
import { useMessages } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/ConfirmDialog.tsx"
import { runMessages } from "./messages.ts"

export const CancelRun = ({ id }: { readonly id: HubRun["id"] }) => {
  const messages = useMessages(runMessages)
  const client = useQueryClient()
  const cancel = useMutation({
    mutationFn: () => hubApi.runs.cancel({ params: { id } }),
    onSettled: () => client.invalidateQueries({ queryKey: ["runs"] })
  })
  return (
    <ConfirmDialog
      trigger={messages.cancel}
      triggerClass="button"
      title={messages.cancelTitle}
      confirm={messages.cancel}
      onConfirm={() => cancel.mutateAsync()}
    >
      {messages.cancelText}
    </ConfirmDialog>
  )
}
