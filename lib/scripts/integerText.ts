import { lua } from './Script';

/**
 * `integerText(name)`: the integer that Redis keeps as text in this key, false without the key. Any other text is an
 * error, which the script must return: it is no number.
 */
export const INTEGER_TEXT = lua`
local function integerText(name)
  local text = redis.call('get', name)
  if text and not string.find(text, '^-?%d+$') then
    return redis.error_reply('ERR value is not an integer or out of range')
  end
  return text
end
`;
