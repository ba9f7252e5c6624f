/** Ends a run, once that is confirmed. */
import type { HubRun } from "@corral/domain/HubRun"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { hub } from "../api/Hub.ts"
import { useWords } from "../text/Language.tsx"
import { ConfirmDialog } from "../ui/ConfirmDialog.tsx"
import { runWords } from "./words.ts"

export const CancelRun = ({ id }: { readonly id: HubRun["id"] }) => {
  const words = useWords(runWords)
  const client = useQueryClient()
  const [open, setOpen] = useState(false)
  const cancel = useMutation({
    mutationFn: () => hub.runs.cancel({ params: { id } }),
    onSettled: () => client.invalidateQueries({ queryKey: ["runs"] })
  })
  return (
    <ConfirmDialog
      trigger={words.cancel}
      title={words.cancelTitle}
      confirm={words.cancel}
      busy={cancel.isPending}
      error={cancel.error}
      open={open}
      onOpenChange={setOpen}
      onConfirm={(close) => cancel.mutate(undefined, { onSuccess: close })}
    >
      {words.cancelText}
    </ConfirmDialog>
  )
}
