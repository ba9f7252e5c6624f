/**
 * How to add a device: the command for that machine, and a join token for its input, so that it stands in no process list. The token is
 * kept while the dialog is open, and nowhere else.
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

/** A device that has joined and was not started yet is no news: who waits for one looks now and then. */
const LOOK_EVERY_MS = 3_000

const Steps = ({ devices }: { readonly devices: ReadonlyArray<Device> }) => {
  const messages = useMessages(deviceMessages)
  const [known] = useState(() => new Set(devices.map(({ id }) => id)))
  const make = useMutation({ mutationFn: () => hubApi.devices.createJoinToken({ payload: {} }) })
  const client = useQueryClient()
  useEffect(() => {
    const look = () => void client.invalidateQueries({ queryKey: ["devices", "list"] })
    const timer = setInterval(look, LOOK_EVERY_MS)
    return () => clearInterval(timer)
  }, [client])
  const joined = devices.find(({ id }) => !known.has(id))
  return (
    <>
      <p>{messages.addText}</p>
      <CopyLine text={joinCommand()} what={messages.command} />
      {make.data === undefined ? (
        <button
          type="button"
          className="button primary"
          disabled={make.isPending}
          onClick={() => make.mutate()}
        >
          {messages.makeToken}
        </button>
      ) : (
        <>
          <p>{messages.tokenText}</p>
          <CopyLine text={make.data.token} what={messages.token} />
          <p className="quiet">
            {messages.untilText} <Time at={make.data.expiresAt} />
          </p>
          <p>{messages.upText}</p>
          <CopyLine text="corral up" what={messages.command} />
        </>
      )}
      <RefusalNote error={make.error} />
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
