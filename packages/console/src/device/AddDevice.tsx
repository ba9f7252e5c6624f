/**
 * Dialog that adds a device: the command for that machine, and a join token for its stdin.
 *
 * *Guarantees:* the token appears in no process list and is kept only while the dialog is open.
 */
import { Dialog } from "@base-ui/react/dialog"
import type { Device } from "@corral/domain/device/Device"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { hubApi } from "../api/Hub.ts"
import { useMessages } from "../text/Language.tsx"
import { CopyLine } from "../ui/CopyLine.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { Time } from "../ui/Time.tsx"
import { deviceMessages } from "./messages.ts"

const joinCommand = (): string => `corral device join --hub ${globalThis.location.origin} --token-file -`

/** Polling interval. A device that has joined but not started sends no change notice. */
const POLL_INTERVAL_MS = 3_000

const Steps = ({ devices }: { readonly devices: ReadonlyArray<Device> }) => {
  const messages = useMessages(deviceMessages)
  const [knownIds] = useState(() => new Set(devices.map(({ id }) => id)))
  const createToken = useMutation({ mutationFn: () => hubApi.devices.createJoinToken({ payload: {} }) })
  const client = useQueryClient()
  useEffect(() => {
    const poll = () => void client.invalidateQueries({ queryKey: ["devices", "list"] })
    const timer = setInterval(poll, POLL_INTERVAL_MS)
    return () => clearInterval(timer)
  }, [client])
  const joined = devices.find(({ id }) => !knownIds.has(id))
  return (
    <>
      <p>{messages.addText}</p>
      <CopyLine text={joinCommand()} what={messages.command} />
      {createToken.data === undefined ? (
        <button
          type="button"
          className="button primary"
          disabled={createToken.isPending}
          onClick={() => createToken.mutate()}
        >
          {messages.makeToken}
        </button>
      ) : (
        <>
          <p>{messages.tokenText}</p>
          <CopyLine text={createToken.data.token} what={messages.token} />
          <p className="quiet">
            {messages.untilText} <Time at={createToken.data.expiresAt} />
          </p>
          <p>{messages.upText}</p>
          <CopyLine text="corral up" what={messages.command} />
        </>
      )}
      <RefusalNote error={createToken.error} />
      <p role="status">
        {joined === undefined ? messages.waits : <strong>{messages.joined(joined.name)}</strong>}
      </p>
    </>
  )
}

export const AddDevice = ({ devices }: { readonly devices: ReadonlyArray<Device> }) => {
  const messages = useMessages(deviceMessages)
  return (
    <Dialog.Root>
      <Dialog.Trigger className="button primary">{messages.add}</Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title className="dialog-title">{messages.add}</Dialog.Title>
          <Steps devices={devices} />
          <div className="dialog-actions">
            <Dialog.Close className="button">{messages.close}</Dialog.Close>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
