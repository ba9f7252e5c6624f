/**
 * How to add a device: the command for that machine, and a join token for its input, so that it stands in no process list. The token is
 * kept while the dialog is open, and nowhere else.
 */
import { Dialog } from "@base-ui/react/dialog"
import type { Device } from "@corral/domain/device/Device"
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useEffect, useState } from "react"
import { hub } from "../api/Hub.ts"
import { useWords } from "../text/Language.tsx"
import { CopyLine } from "../ui/CopyLine.tsx"
import { RefusalNote } from "../ui/RefusalNote.tsx"
import { Time } from "../ui/Time.tsx"
import { deviceWords } from "./messages.ts"

const joinCommand = (): string => `corral device join --hub ${globalThis.location.origin} --token-file -`

/** A device that has joined and was not started yet is no news: who waits for one looks now and then. */
const LOOK_EVERY_MS = 3_000

const Steps = ({ devices }: { readonly devices: ReadonlyArray<Device> }) => {
  const words = useWords(deviceWords)
  const [known] = useState(() => new Set(devices.map(({ id }) => id)))
  const make = useMutation({ mutationFn: () => hub.devices.createJoinToken({ payload: {} }) })
  const client = useQueryClient()
  useEffect(() => {
    const look = () => void client.invalidateQueries({ queryKey: ["devices", "list"] })
    const timer = setInterval(look, LOOK_EVERY_MS)
    return () => clearInterval(timer)
  }, [client])
  const joined = devices.find(({ id }) => !known.has(id))
  return (
    <>
      <p>{words.addText}</p>
      <CopyLine text={joinCommand()} what={words.command} />
      {make.data === undefined ? (
        <button
          type="button"
          className="button primary"
          disabled={make.isPending}
          onClick={() => make.mutate()}
        >
          {words.makeToken}
        </button>
      ) : (
        <>
          <p>{words.tokenText}</p>
          <CopyLine text={make.data.token} what={words.token} />
          <p className="quiet">
            {words.untilText} <Time at={make.data.expiresAt} />
          </p>
          <p>{words.upText}</p>
          <CopyLine text="corral up" what={words.command} />
        </>
      )}
      <RefusalNote error={make.error} />
      <p role="status">{joined === undefined ? words.waits : <strong>{words.joined(joined.name)}</strong>}</p>
    </>
  )
}

export const AddDevice = ({ devices }: { readonly devices: ReadonlyArray<Device> }) => {
  const words = useWords(deviceWords)
  return (
    <Dialog.Root>
      <Dialog.Trigger className="button primary">{words.add}</Dialog.Trigger>
      <Dialog.Portal>
        <Dialog.Backdrop className="backdrop" />
        <Dialog.Popup className="dialog">
          <Dialog.Title className="dialog-title">{words.add}</Dialog.Title>
          <Steps devices={devices} />
          <div className="dialog-actions">
            <Dialog.Close className="button">{words.close}</Dialog.Close>
          </div>
        </Dialog.Popup>
      </Dialog.Portal>
    </Dialog.Root>
  )
}
