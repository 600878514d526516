-- The part of LuaUnit that published tests use, for Debian has no package of it.
-- run() writes the job's token when all tests have passed.

local token = os.getenv("PASSCURVE_TOKEN")
local print_line, pairs, type, error, pcall, tostring = print, pairs, type, error, pcall, tostring
local abs, sort, concat = math.abs, table.sort, table.concat

local lu = { LuaUnit = {} }

local function show(value, depth)
    if type(value) == "string" then
        return string.format("%q", value)
    end
    if type(value) ~= "table" or (depth or 0) > 3 then
        return tostring(value)
    end
    local parts = {}
    for key, item in pairs(value) do
        parts[#parts + 1] = show(key, (depth or 0) + 1) .. " = " .. show(item, (depth or 0) + 1)
    end
    sort(parts)
    return "{" .. concat(parts, ", ") .. "}"
end

local function equal(left, right, seen)
    if type(left) ~= "table" or type(right) ~= "table" then
        return left == right
    end
    if rawequal(left, right) then
        return true
    end
    seen = seen or {}
    if seen[left] == right then
        return true
    end
    seen[left] = right
    for key, value in pairs(left) do
        if not equal(value, right[key], seen) then
            return false
        end
    end
    for key in pairs(right) do
        if left[key] == nil then
            return false
        end
    end
    return true
end

local function holds(condition, message)
    if not condition then
        error(message, 3)
    end
end

function lu.assertEquals(got, expected)
    holds(equal(got, expected), "expected: " .. show(expected) .. ", actual: " .. show(got))
end

function lu.assertNotEquals(got, expected)
    holds(not equal(got, expected), "expected a value other than " .. show(expected))
end

function lu.assertAlmostEquals(got, expected, margin)
    holds(abs(got - expected) <= (margin or 1e-12), "expected: about " .. show(expected) .. ", actual: " .. show(got))
end

function lu.assertItemsEquals(got, expected)
    local left, right = {}, {}
    for _, item in pairs(got) do
        left[#left + 1] = show(item)
    end
    for _, item in pairs(expected) do
        right[#right + 1] = show(item)
    end
    sort(left)
    sort(right)
    holds(equal(left, right), "expected: the items of " .. show(expected) .. ", actual: " .. show(got))
end

function lu.assertTrue(got)
    holds(got == true, "expected: true, actual: " .. show(got))
end

function lu.assertFalse(got)
    holds(got == false, "expected: false, actual: " .. show(got))
end

function lu.assertEvalToTrue(got)
    holds(got, "expected: a value that counts as true, actual: " .. show(got))
end

function lu.assertEvalToFalse(got)
    holds(not got, "expected: a value that counts as false, actual: " .. show(got))
end

function lu.assertNil(got)
    holds(got == nil, "expected: nil, actual: " .. show(got))
end

function lu.assertNotNil(got)
    holds(got ~= nil, "expected: a value, actual: nil")
end

function lu.assertIs(got, expected)
    holds(rawequal(got, expected), "expected: the same value as " .. show(expected))
end

function lu.assertStrContains(text, part)
    holds(string.find(text, part, 1, true) ~= nil, "expected: " .. show(part) .. " in " .. show(text))
end

function lu.assertError(call, ...)
    holds(not pcall(call, ...), "expected: an error")
end

lu.assert_equals, lu.assert_true, lu.assert_false, lu.assert_nil =
    lu.assertEquals, lu.assertTrue, lu.assertFalse, lu.assertNil

local function collect()
    local tests = {}
    for name, value in pairs(_G) do
        local is_test = type(name) == "string" and name:sub(1, 4):lower() == "test"
        if is_test and type(value) == "function" then
            tests[#tests + 1] = { name = name, call = value }
        elseif is_test and type(value) == "table" then
            for method, call in pairs(value) do
                if type(method) == "string" and method:sub(1, 4):lower() == "test" and type(call) == "function" then
                    tests[#tests + 1] = {
                        name = name .. "." .. method,
                        call = function()
                            if value.setUp then
                                value:setUp()
                            end
                            call(value)
                            if value.tearDown then
                                value:tearDown()
                            end
                        end,
                    }
                end
            end
        end
    end
    sort(tests, function(left, right)
        return left.name < right.name
    end)
    return tests
end

function lu.LuaUnit.run()
    local tests, failures = collect(), 0
    for _, test in ipairs(tests) do
        local passed, message = pcall(test.call)
        if not passed then
            failures = failures + 1
            io.stderr:write(test.name, ": ", tostring(message), "\n")
        end
    end
    print_line(("Ran %d tests, %d failures"):format(#tests, failures))
    if failures == 0 and #tests > 0 then
        print_line(token)
    end
    return failures
end

lu.LuaUnit.runSuite = lu.LuaUnit.run

return lu
